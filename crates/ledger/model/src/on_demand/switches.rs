//! Context switches of threads in a window, by the reason for leaving the CPU.

use super::counted::{Choice, Counted};
use super::losses::Losses;
use super::sums::{leave, merge};
use crate::ledger::key::TaskRef;
use serde::{Deserialize, Serialize};
use std::mem::size_of;

/// Context switches of one thread, or of all threads of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchRow {
    /// The thread or process.
    pub who: TaskRef,
    /// Switches of a runnable thread to another task.
    pub preempted: u64,
    /// Switches into a sleep.
    pub blocked: u64,
    /// Switches in sched_yield(2).
    pub yielded: u64,
    /// Switches at the thread's end; one for each thread.
    pub exited: u64,
}

impl SwitchRow {
    /// All switches: `nr_switches` of /proc/PID/task/TID/sched.
    pub fn switches(&self) -> u64 {
        self.preempted + self.blocked + self.yielded + self.exited
    }

    fn add(&mut self, other: &SwitchRow) {
        self.preempted += other.preempted;
        self.blocked += other.blocked;
        self.yielded += other.yielded;
        self.exited += other.exited;
    }
}

/// Context switches of a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchWindow {
    /// Start, CLOCK_MONOTONIC ns.
    pub t0_ns: u64,
    /// End, CLOCK_MONOTONIC ns.
    pub t1_ns: u64,
    /// One row for each thread, in no order.
    pub rows: Vec<SwitchRow>,
    /// Losses of the programs.
    pub losses: Losses,
}

impl SwitchWindow {
    /// The rows summed by process.
    pub fn by_process(&self) -> Vec<SwitchRow> {
        let rows = self.rows.iter().map(|row| SwitchRow { who: row.who.process(), ..*row });
        let mut sums = Vec::new();
        merge(&mut sums, rows, |row: &SwitchRow| row.who.tgid, SwitchRow::add);
        sums
    }
}

impl Counted for SwitchWindow {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn bytes(&self) -> usize {
        self.rows.len() * size_of::<SwitchRow>()
    }

    fn visible_to(&self, _: &Choice, is_theirs: &dyn Fn(&TaskRef) -> bool) -> SwitchWindow {
        let rows = self.rows.iter().filter(|row| is_theirs(&row.who));
        SwitchWindow { rows: rows.copied().collect(), ..*self }
    }

    fn merge(&mut self, later: SwitchWindow) {
        let thread = |row: &SwitchRow| (row.who.tgid, row.who.tid);
        merge(&mut self.rows, later.rows, thread, SwitchRow::add);
    }

    fn cut(&mut self, most: &dyn Fn(usize) -> usize) {
        leave(&mut self.rows, most, SwitchRow::switches);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Comm;

    fn row(tid: u32, preempted: u64, exited: u64) -> SwitchRow {
        let who = TaskRef::thread(5, tid, Comm::new(b"x"), Comm::new(b"x"));
        SwitchRow { who, preempted, blocked: 2, yielded: 3, exited }
    }

    #[test]
    fn sums_are_the_same_by_thread_by_process_and_over_windows() {
        let window = |rows| SwitchWindow { t0_ns: 0, t1_ns: 1, rows, losses: Losses::default() };
        let mut both = window(vec![row(5, 1, 0), row(6, 4, 1)]);
        both.then(window(vec![row(5, 10, 0)]));
        assert_eq!(both.rows.iter().map(SwitchRow::switches).collect::<Vec<_>>(), [21, 10]);
        let process = both.by_process();
        assert_eq!((process.len(), process[0].switches()), (1, 31));
        assert_eq!((process[0].preempted, process[0].exited, process[0].who.tid), (15, 1, None));
    }
}
