//! Tasks that moved to another CPU in a window: from which to which, and why.

mod cause;
#[cfg(test)]
mod tests;

pub use cause::{cause, Cause, Facts};

use super::counted::{Choice, Counted, Panel};
use super::losses::Losses;
use super::sums::{leave, merge};
use crate::ledger::key::TaskRef;
use serde::{Deserialize, Serialize};
use std::hash::Hash;
use std::mem::size_of;

/// Sums over moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveSums {
    /// Number of moves.
    pub moves: u64,
    /// Moves of tasks that waited in a run queue since a known time. The other tasks were asleep.
    pub queued: u64,
    /// Wait of these tasks before the move, ns.
    pub before_ns: u64,
    /// Moves whose wait ended in the window: the task ran or was moved again.
    pub ran: u64,
    /// Wait of these tasks after the move, ns.
    pub after_ns: u64,
    /// Of the tasks that ran: those that ran before the CPU they had left ran any other task.
    pub paid: u64,
    /// Of the tasks that ran: those whose old CPU was idle meanwhile.
    pub unpaid: u64,
}

impl MoveSums {
    /// Adds the sums of other moves.
    pub fn add(&mut self, other: &MoveSums) {
        self.moves += other.moves;
        self.queued += other.queued;
        self.before_ns += other.before_ns;
        self.ran += other.ran;
        self.after_ns += other.after_ns;
        self.paid += other.paid;
        self.unpaid += other.unpaid;
    }

    /// Mean wait before the move, ns; `None` if no task waited.
    pub fn mean_before_ns(&self) -> Option<u64> {
        self.before_ns.checked_div(self.queued)
    }

    /// Mean wait after the move, ns; `None` if no task ran.
    pub fn mean_after_ns(&self) -> Option<u64> {
        self.after_ns.checked_div(self.ran)
    }
}

/// Moves of one thread, pair of CPUs and cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveRow {
    /// The moved thread or process.
    pub who: TaskRef,
    /// The CPU that the task left; for a new task, its parent's CPU.
    pub from: u32,
    /// The CPU that the task moved to.
    pub to: u32,
    /// Cause of the move.
    pub cause: Cause,
    /// Sums over these moves.
    pub sums: MoveSums,
}

/// A reason for moves without a cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unknown {
    /// The reason in words; it may contain names of kernel functions.
    pub why: String,
    /// Number of these moves.
    pub moves: u64,
}

/// Moves of a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveWindow {
    /// Start, CLOCK_MONOTONIC ns.
    pub t0_ns: u64,
    /// End, CLOCK_MONOTONIC ns.
    pub t1_ns: u64,
    /// One row for each thread, pair of CPUs and cause, in no order.
    pub rows: Vec<MoveRow>,
    /// Reasons for moves without a cause.
    pub unknown: Vec<Unknown>,
    /// Migrations that the kernel counted and did not show.
    pub missed: u64,
    /// Losses of the programs.
    pub losses: Losses,
    /// True if the rows are complete. If not, `missed` and `losses` cover other processes too.
    pub whole: bool,
}

impl MoveWindow {
    /// Migrations in the rows, as the kernel counts them.
    pub fn migrations(&self) -> u64 {
        let counted = self.rows.iter().filter(|row| row.cause.is_counted());
        counted.map(|row| row.sums.moves).sum()
    }

    /// New tasks that were placed on another CPU than their parent's.
    pub fn births(&self) -> u64 {
        let born = self.rows.iter().filter(|row| !row.cause.is_counted());
        born.map(|row| row.sums.moves).sum()
    }

    /// The kernel's count of migrations: those in the rows, those without room, and those not
    /// shown. `None` if the rows are not complete.
    pub fn by_kernel(&self) -> Option<u64> {
        self.whole.then(|| self.migrations() + self.losses.lost + self.missed)
    }

    /// The rows summed by process.
    pub fn by_process(&self) -> Vec<MoveRow> {
        let process = |row: &MoveRow| MoveRow { who: row.who.process(), ..*row };
        let key = |row: &MoveRow| (row.who.tgid, row.from, row.to, row.cause);
        summed(self.rows.iter().map(process), key)
    }

    /// Sums by cause, most moves first.
    pub fn by_cause(&self) -> Vec<(Cause, MoveSums)> {
        let rows = summed(self.rows.iter().copied(), |row| row.cause);
        let mut sums: Vec<_> = rows.into_iter().map(|row| (row.cause, row.sums)).collect();
        sums.sort_by_key(|(cause, sums)| (std::cmp::Reverse(sums.moves), *cause));
        sums
    }

    /// Sums by pair of CPUs, most moves first, without new tasks.
    pub fn by_cpus(&self) -> Vec<(u32, u32, MoveSums)> {
        let counted = self.rows.iter().copied().filter(|row| row.cause.is_counted());
        let rows = summed(counted, |row| (row.from, row.to));
        let mut sums: Vec<_> = rows.into_iter().map(|row| (row.from, row.to, row.sums)).collect();
        sums.sort_by_key(|(from, to, sums)| (std::cmp::Reverse(sums.moves), *from, *to));
        sums
    }
}

impl Counted for MoveWindow {
    const PANEL: Option<Panel> = Some(Panel::Overview);

    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn bytes(&self) -> usize {
        let words = |unknown: &Unknown| size_of::<Unknown>() + unknown.why.len();
        self.rows.len() * size_of::<MoveRow>() + self.unknown.iter().map(words).sum::<usize>()
    }

    /// `missed` and `losses` still cover all processes.
    fn visible_to(&self, choice: &Choice, is_theirs: &dyn Fn(&TaskRef) -> bool) -> MoveWindow {
        let rows = self.rows.iter().filter(|row| is_theirs(&row.who)).copied().collect::<Vec<_>>();
        if choice.pids.is_empty() && rows.len() == self.rows.len() {
            return self.clone();
        }
        let nameless = rows.iter().filter(|row| row.cause == Cause::Unknown);
        let moves = nameless.map(|row| row.sums.moves).sum();
        let why = "the reason is known only in a window of all processes".into();
        let unknown = (moves > 0).then_some(Unknown { why, moves }).into_iter().collect();
        MoveWindow { rows, unknown, whole: false, ..*self }
    }

    fn merge(&mut self, later: MoveWindow) {
        let key = |row: &MoveRow| (row.who.tgid, row.who.tid, row.from, row.to, row.cause);
        merge(&mut self.rows, later.rows, key, |sum, row| sum.sums.add(&row.sums));
        let why = |unknown: &Unknown| unknown.why.clone();
        merge(&mut self.unknown, later.unknown, why, |sum, more| sum.moves += more.moves);
        self.missed += later.missed;
        self.whole &= later.whole;
    }

    fn cut(&mut self, most: &dyn Fn(usize) -> usize) {
        let before = self.rows.len();
        leave(&mut self.rows, most, |row| row.sums.moves);
        self.whole &= self.rows.len() == before;
    }
}

/// Sums rows with the same key.
fn summed<K: Hash + Eq>(
    rows: impl Iterator<Item = MoveRow>,
    key: impl Fn(&MoveRow) -> K,
) -> Vec<MoveRow> {
    let mut sums = Vec::new();
    merge(&mut sums, rows, key, |sum: &mut MoveRow, row| sum.sums.add(&row.sums));
    sums
}
