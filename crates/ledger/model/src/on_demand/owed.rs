//! Time in which tasks waited for a CPU while another CPU was idle, by the group that waited and by
//! cause.

use super::counted::{Choice, Counted};
use super::losses::Losses;
use super::sums::{leave, merge};
use crate::ledger::key::TaskRef;
use serde::{Deserialize, Serialize};
use std::mem::size_of;

/// Why a task waited in a run queue.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // `meaning` says it.
pub enum Cause {
    Wakeup,
    Balance,
    Numa,
    Affinity,
    Cpuset,
    Waking,
    Busy,
    Quota,
}

impl Cause {
    /// All causes, in the order of the manual and of `enum ex_owed_cause`.
    pub const ALL: &[Cause] = <Cause as strum::VariantArray>::VARIANTS;

    /// Word in tables, JSON and CSV.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Meaning in words.
    pub fn meaning(self) -> &'static str {
        match self {
            Cause::Wakeup => "a wake-up placed it there although a CPU was idle",
            Cause::Balance => "a CPU became idle later, and no balance moved it yet",
            Cause::Numa => "the idle CPUs where it may run are on other NUMA nodes",
            Cause::Affinity => "its affinity excludes the idle CPUs",
            Cause::Cpuset => "its cpuset excludes the idle CPUs",
            Cause::Waking => "its own CPU was idle and woke up for it",
            Cause::Busy => "no CPU was idle",
            Cause::Quota => "its group's quota was used up meanwhile",
        }
    }

    /// True if an idle CPU could have run the task.
    pub fn is_owed(self) -> bool {
        matches!(self, Cause::Wakeup | Cause::Balance | Cause::Numa)
    }
}

/// Waits of a process's tasks in a control group for one cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwedRow {
    /// The process.
    pub who: TaskRef,
    /// Their waits.
    pub wait: GroupWait,
}

/// Waits in a control group for one cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupWait {
    /// Path of the control group, escaped.
    pub group: String,
    /// The cause.
    pub cause: Cause,
    /// Time, ns.
    pub ns: u64,
    /// Number of waits; one that changes its CPU counts again.
    pub times: u64,
}

/// Waits of a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwedWindow {
    /// Start, CLOCK_MONOTONIC ns.
    pub t0_ns: u64,
    /// End, CLOCK_MONOTONIC ns.
    pub t1_ns: u64,
    /// Idle time of all CPUs, ns.
    pub idle_ns: u64,
    /// The part of it in which waiting tasks could have run, ns. At each instant it counts, for
    /// tasks that may run on the same CPUs, as many of these CPUs as are idle, and at most one for
    /// each task.
    pub owed_ns: u64,
    /// One row for each process, group and cause, in no order.
    pub rows: Vec<OwedRow>,
    /// Losses of the programs.
    pub losses: Losses,
}

impl OwedWindow {
    /// The rows summed by group and cause: owed ones first, then those with the longest time.
    pub fn by_group(&self) -> Vec<GroupWait> {
        let waits = self.rows.iter().map(|row| row.wait.clone());
        let mut sums = Vec::new();
        merge(&mut sums, waits, |wait| (wait.group.clone(), wait.cause), GroupWait::add);
        sums.sort_by(|a, b| {
            (b.rank().cmp(&a.rank())).then_with(|| (&a.group, a.cause).cmp(&(&b.group, b.cause)))
        });
        sums
    }
}

impl GroupWait {
    /// Owed ones rank first, then those with the longest time.
    fn rank(&self) -> (bool, u64) {
        (self.cause.is_owed(), self.ns)
    }

    fn add(&mut self, other: &GroupWait) {
        self.ns += other.ns;
        self.times += other.times;
    }
}

impl Counted for OwedWindow {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn bytes(&self) -> usize {
        self.rows.iter().map(|row| size_of::<OwedRow>() + row.wait.group.len()).sum()
    }

    fn visible_to(&self, _: &Choice, is_theirs: &dyn Fn(&TaskRef) -> bool) -> OwedWindow {
        let rows = self.rows.iter().filter(|row| is_theirs(&row.who)).cloned().collect();
        OwedWindow { rows, ..*self }
    }

    fn merge(&mut self, later: OwedWindow) {
        self.idle_ns += later.idle_ns;
        self.owed_ns += later.owed_ns;
        let key = |row: &OwedRow| (row.who.tgid, row.wait.group.clone(), row.wait.cause);
        merge(&mut self.rows, later.rows, key, |row, more| row.wait.add(&more.wait));
    }

    fn cut(&mut self, most: &dyn Fn(usize) -> usize) {
        leave(&mut self.rows, most, |row| row.wait.rank());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Comm;

    fn row(tgid: u32, group: &str, cause: Cause, ns: u64) -> OwedRow {
        let who = TaskRef::thread(tgid, tgid, Comm::new(b"x"), Comm::new(b"x")).process();
        OwedRow { who, wait: GroupWait { group: group.into(), cause, ns, times: 1 } }
    }

    fn window(rows: Vec<OwedRow>) -> OwedWindow {
        OwedWindow { t0_ns: 0, t1_ns: 1, idle_ns: 5, owed_ns: 3, rows, losses: Losses::default() }
    }

    #[test]
    fn processes_and_windows_add_up_by_group_and_cause_and_owed_rows_come_first() {
        let mut both = window(vec![
            row(1, "/a", Cause::Busy, 50),
            row(1, "/a", Cause::Balance, 5),
            row(2, "/a", Cause::Balance, 6),
        ]);
        both.then(window(vec![row(1, "/a", Cause::Balance, 1), row(1, "/b", Cause::Affinity, 7)]));
        assert_eq!((both.rows.len(), both.idle_ns, both.owed_ns), (4, 10, 6));
        let sums = both.by_group();
        let sums: Vec<_> = sums.iter().map(|r| (&*r.group, r.cause, r.ns, r.times)).collect();
        assert_eq!(
            sums,
            [
                ("/a", Cause::Balance, 12, 3),
                ("/a", Cause::Busy, 50, 1),
                ("/b", Cause::Affinity, 7, 1)
            ]
        );
        both.cut(&|_| 2);
        assert!(both.rows.iter().all(|row| row.wait.cause.is_owed()), "{both:?}");
    }

    #[test]
    fn a_reader_sees_the_rows_of_its_processes_and_the_machines_idle_time() {
        let all = window(vec![row(1, "/a", Cause::Wakeup, 5), row(2, "/a", Cause::Wakeup, 6)]);
        let seen = all.visible_to(&Choice::default(), &|who| who.tgid == 2);
        assert_eq!((seen.rows.len(), seen.rows[0].wait.ns, seen.idle_ns), (1, 6, 5));
    }
}
