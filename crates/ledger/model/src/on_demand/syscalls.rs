//! System calls in a window: number, time and failures.

pub use super::counted::SyscallsBy;
use super::counted::{Choice, Counted, Panel};
use super::losses::Losses;
use super::sums::{leave, merge};
use super::syscall_nr::SyscallNr;
use crate::ledger::key::TaskRef;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use std::mem::size_of;

/// Calls of one kind that returned in the window, or whose thread exited inside the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // Their names say it.
pub struct SyscallRow {
    /// The thread or process; `None` if the row sums all.
    pub who: Option<TaskRef>,
    /// The system call.
    pub nr: SyscallNr,
    pub calls: u64,
    /// Calls without a time, because they began before the programs were attached.
    pub untimed: u64,
    /// Calls that returned an error (-4095..-1).
    pub errors: u64,
    /// Time from entry to return of the calls that returned in the window, ns. It includes time
    /// before the window.
    pub total_ns: u64,
    /// The longest call, ns; `None` if no call was timed.
    pub max_ns: Option<u64>,
    /// Calls that had not returned at the window's end.
    pub in_flight: u64,
    /// Age of the oldest call that had not returned, ns. `None` if there is none, or if it began
    /// before the programs were attached.
    pub oldest_ns: Option<u64>,
}

impl SyscallRow {
    /// A row without calls.
    pub fn new(who: Option<TaskRef>, nr: SyscallNr) -> SyscallRow {
        SyscallRow {
            who,
            nr,
            calls: 0,
            untimed: 0,
            errors: 0,
            total_ns: 0,
            max_ns: None,
            in_flight: 0,
            oldest_ns: None,
        }
    }

    /// Time of all calls whose begin was seen, ns; `None` if there were calls and none was timed.
    pub fn timed_ns(&self) -> Option<u64> {
        (self.calls == 0 || self.calls > self.untimed).then_some(self.total_ns)
    }

    /// Mean time of a call, ns; `None` if no call was timed.
    pub fn mean_ns(&self) -> Option<u64> {
        self.total_ns.checked_div(self.calls - self.untimed)
    }

    /// Adds another part of the same row.
    pub fn add(&mut self, other: &SyscallRow) {
        self.calls += other.calls;
        self.untimed += other.untimed;
        self.errors += other.errors;
        self.total_ns += other.total_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
        self.in_flight += other.in_flight;
        self.oldest_ns = self.oldest_ns.max(other.oldest_ns);
    }
}

/// Calls of one kind that failed with the same error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // Their names say it.
pub struct Failures {
    /// The thread or process, as in the call's row.
    pub who: Option<TaskRef>,
    pub nr: SyscallNr,
    /// errno(3).
    pub errno: u32,
    pub count: u64,
}

impl Failures {
    /// `EAGAIN`, or the number if the error has no name.
    pub fn name(&self) -> String {
        let number = i32::try_from(self.errno).ok();
        let name = number.and_then(|number| syscalls::Errno::new(number).name());
        name.map_or(self.errno.to_string(), String::from)
    }
}

/// Number of times a process or thread came onto a CPU in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // Their names say it.
pub struct Dispatches {
    pub who: TaskRef,
    pub count: u64,
}

/// System calls of a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // Their names say it.
pub struct SyscallWindow {
    /// Start, CLOCK_MONOTONIC ns.
    pub t0_ns: u64,
    pub t1_ns: u64,
    /// Key by which the rows are summed.
    pub by: SyscallsBy,
    /// Rows with calls or with calls in flight, in no order.
    pub rows: Vec<SyscallRow>,
    /// Errors of the rows, in no order. They are read a moment after the rows, so they contain
    /// failures of that moment.
    #[serde(default)]
    pub failures: Vec<Failures>,
    /// Dispatches by thread or process; empty if the rows sum all.
    pub dispatches: Vec<Dispatches>,
    /// Losses of the programs.
    pub losses: Losses,
}

/// A row with its errors and dispatches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRow {
    /// The row.
    pub row: SyscallRow,
    /// Its errors, the most frequent first.
    pub failures: Vec<Failures>,
    /// Dispatches of its process or thread; `None`: the row sums all.
    pub dispatches: Option<u64>,
}

/// The ids of a thread or process, without its names.
fn ids(who: &Option<TaskRef>) -> Option<(u32, Option<u32>)> {
    who.map(|who| (who.tgid, who.tid))
}

impl SyscallWindow {
    /// The rows by total time, then by number of calls, calls in flight and name; each with its
    /// errors and dispatches.
    pub fn longest_first(&self) -> Vec<CallRow> {
        let mut rows = self.rows.clone();
        let rank = |r: &SyscallRow| (r.total_ns, r.calls, r.in_flight);
        rows.sort_by(|a, b| rank(b).cmp(&rank(a)).then((a.who, a.nr).cmp(&(b.who, b.nr))));
        // One pass for all rows: a window with thousands of rows has as many failures.
        let mut failures: FxHashMap<_, Vec<Failures>> = FxHashMap::default();
        for one in &self.failures {
            failures.entry((ids(&one.who), one.nr)).or_default().push(*one);
        }
        let mut dispatches: FxHashMap<_, u64> = FxHashMap::default();
        for one in &self.dispatches {
            *dispatches.entry(ids(&Some(one.who))).or_default() += one.count;
        }
        let enriched = |row: SyscallRow| {
            let mut failures = failures.remove(&(ids(&row.who), row.nr)).unwrap_or_default();
            failures.sort_by_key(|f| (std::cmp::Reverse(f.count), f.errno));
            // One that came onto no CPU in the window has no entry.
            let counted = dispatches.get(&ids(&row.who)).copied();
            let dispatches = row.who.map(|_| counted.unwrap_or(0));
            CallRow { row, failures, dispatches }
        };
        rows.into_iter().map(enriched).collect()
    }

    /// Adds each row to the row of the same thread and call.
    fn add(
        &mut self,
        rows: impl IntoIterator<Item = SyscallRow>,
        failures: impl IntoIterator<Item = Failures>,
        dispatches: impl IntoIterator<Item = Dispatches>,
    ) {
        merge(&mut self.rows, rows, |row| (ids(&row.who), row.nr), SyscallRow::add);
        let key = |one: &Failures| (ids(&one.who), one.nr, one.errno);
        merge(&mut self.failures, failures, key, |sum, one| sum.count += one.count);
        let key = |one: &Dispatches| (one.who.tgid, one.who.tid);
        merge(&mut self.dispatches, dispatches, key, |sum, one| sum.count += one.count);
    }
}

impl Counted for SyscallWindow {
    const PANEL: Option<Panel> = Some(Panel::Calls);

    fn rows(&self) -> usize {
        self.rows.len() + self.dispatches.len()
    }

    fn bytes(&self) -> usize {
        self.rows.len() * size_of::<SyscallRow>()
            + self.failures.len() * size_of::<Failures>()
            + self.dispatches.len() * size_of::<Dispatches>()
    }

    fn visible_to(&self, choice: &Choice, is_theirs: &dyn Fn(&TaskRef) -> bool) -> SyscallWindow {
        let whose = |who: TaskRef| match choice.by {
            SyscallsBy::Call => None,
            SyscallsBy::Process => Some(who.process()),
            SyscallsBy::Thread => Some(who),
        };
        let is_wanted = |nr: SyscallNr, who: &Option<TaskRef>| {
            let calls = &choice.calls;
            (calls.is_empty() || calls.contains(&nr)) && who.as_ref().is_some_and(is_theirs)
        };
        let rows = self.rows.iter().filter(|row| is_wanted(row.nr, &row.who));
        let failures = self.failures.iter().filter(|one| is_wanted(one.nr, &one.who));
        let dispatches = self.dispatches.iter().filter(|one| is_theirs(&one.who));
        let (by, none) = (choice.by, (Vec::new(), Vec::new(), Vec::new()));
        let mut window =
            SyscallWindow { by, rows: none.0, failures: none.1, dispatches: none.2, ..*self };
        window.add(
            rows.map(|row| SyscallRow { who: row.who.and_then(whose), ..*row }),
            failures.map(|one| Failures { who: one.who.and_then(whose), ..*one }),
            dispatches.filter_map(|one| Some(Dispatches { who: whose(one.who)?, ..*one })),
        );
        window
    }

    fn merge(&mut self, later: SyscallWindow) {
        // Calls in flight are those at the end.
        self.rows.iter_mut().for_each(|row| (row.in_flight, row.oldest_ns) = (0, None));
        self.add(later.rows, later.failures, later.dispatches);
        self.rows.retain(|row| row.calls != 0 || row.in_flight != 0);
    }

    fn cut(&mut self, most: &dyn Fn(usize) -> usize) {
        leave(&mut self.rows, most, |row| (row.total_ns, row.calls, row.in_flight));
        leave(&mut self.failures, most, |one| one.count);
        // No entry means none: each row that is left keeps its own.
        let who: FxHashSet<_> = self.rows.iter().map(|row| ids(&row.who)).collect();
        self.dispatches.retain(|one| who.contains(&ids(&Some(one.who))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_leaves_out_calls_without_a_time() {
        let nothing = SyscallRow::new(None, SyscallNr(1));
        assert_eq!(nothing.mean_ns(), None);
        let row = SyscallRow { calls: 3, untimed: 1, total_ns: 10, ..nothing };
        assert_eq!(row.mean_ns(), Some(5));
        let mut sum = SyscallRow { max_ns: Some(4), ..row };
        sum.add(&SyscallRow { calls: 1, total_ns: 20, max_ns: Some(20), in_flight: 1, ..nothing });
        assert_eq!((sum.calls, sum.max_ns, sum.mean_ns()), (4, Some(20), Some(10)));
    }
}
