//! Which tasks went to another CPU in a window, from which to which, and why.

mod cause;
#[cfg(test)]
mod tests;

pub use cause::{cause, Cause, Facts};

use super::counted::{Choice, Counted, Panel};
use super::losses::Losses;
use super::sums::{leave, merge};
use crate::ledger::key::Who;
use serde::{Deserialize, Serialize};
use std::hash::Hash;
use std::mem::size_of;

/// What moves came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveSums {
    /// How many.
    pub moves: u64,
    /// Of these, those of tasks that waited in a run queue, and it is known since when. Others were asleep.
    pub queued: u64,
    /// How long these had waited before, ns.
    pub before_ns: u64,
    /// Moves whose waiting ended in the window: the task ran, or was moved once more.
    pub ran: u64,
    /// How long these waited after they were moved, ns.
    pub after_ns: u64,
    /// Of those that ran: before anything else came onto the CPU they had left.
    pub paid: u64,
    /// Of those that ran: where they had been, the CPU had nothing to do meanwhile.
    pub unpaid: u64,
}

impl MoveSums {
    /// Adds others.
    pub fn add(&mut self, other: &MoveSums) {
        self.moves += other.moves;
        self.queued += other.queued;
        self.before_ns += other.before_ns;
        self.ran += other.ran;
        self.after_ns += other.after_ns;
        self.paid += other.paid;
        self.unpaid += other.unpaid;
    }

    /// How long one waited before on the average, of those that did; `None`: none.
    pub fn mean_before_ns(&self) -> Option<u64> {
        self.before_ns.checked_div(self.queued)
    }

    /// How long one waited after on the average; `None`: none has run.
    pub fn mean_after_ns(&self) -> Option<u64> {
        self.after_ns.checked_div(self.ran)
    }
}

/// Moves of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveRow {
    /// Who was moved.
    pub who: Who,
    /// The CPU it left; of who is born, its parent's.
    pub from: u32,
    /// The CPU it came to.
    pub to: u32,
    /// Why.
    pub cause: Cause,
    /// How many, and what came of them.
    pub sums: MoveSums,
}

/// Why causes are not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unknown {
    /// In words; names of the kernel's functions among them.
    pub why: String,
    /// Of how many moves.
    pub moves: u64,
}

/// A window's moves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveWindow {
    /// CLOCK_MONOTONIC at its beginning, ns.
    pub t0_ns: u64,
    /// At its end.
    pub t1_ns: u64,
    /// By thread, CPUs and cause, in no order.
    pub rows: Vec<MoveRow>,
    /// Why the cause of some is not known.
    pub unknown: Vec<Unknown>,
    /// Migrations that the kernel counted and did not show.
    pub missed: u64,
    /// What is missing.
    pub losses: Losses,
    /// Whether the rows are all that the programs count: else what is missing, too, is others' as well.
    pub whole: bool,
}

impl MoveWindow {
    /// Migrations that are told, as the kernel counts them.
    pub fn migrations(&self) -> u64 {
        let counted = self.rows.iter().filter(|row| row.cause.is_counted());
        counted.map(|row| row.sums.moves).sum()
    }

    /// Those who were born on another CPU than their parent's.
    pub fn births(&self) -> u64 {
        let born = self.rows.iter().filter(|row| !row.cause.is_counted());
        born.map(|row| row.sums.moves).sum()
    }

    /// The kernel's own count of the migrations: those that are told, those without room, those not shown.
    /// `None`: others' are among what is missing.
    pub fn by_kernel(&self) -> Option<u64> {
        self.whole.then(|| self.migrations() + self.losses.lost + self.missed)
    }

    /// Rows of processes instead of threads.
    pub fn by_process(&self) -> Vec<MoveRow> {
        let process = |row: &MoveRow| MoveRow { who: row.who.process(), ..*row };
        let key = |row: &MoveRow| (row.who.tgid, row.from, row.to, row.cause);
        summed(self.rows.iter().map(process), key)
    }

    /// What each cause came to, most moves first.
    pub fn by_cause(&self) -> Vec<(Cause, MoveSums)> {
        let rows = summed(self.rows.iter().copied(), |row| row.cause);
        let mut sums: Vec<_> = rows.into_iter().map(|row| (row.cause, row.sums)).collect();
        sums.sort_by_key(|(cause, sums)| (std::cmp::Reverse(sums.moves), *cause));
        sums
    }

    /// What went from one CPU to another, most moves first. Births are not among them.
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

    /// What is missing stays what is missing of all of them.
    fn visible_to(&self, choice: &Choice, is_theirs: &dyn Fn(&Who) -> bool) -> MoveWindow {
        let rows = self.rows.iter().filter(|row| is_theirs(&row.who)).copied().collect::<Vec<_>>();
        if choice.pids.is_empty() && rows.len() == self.rows.len() {
            return self.clone();
        }
        let nameless = rows.iter().filter(|row| row.cause == Cause::Unknown);
        let moves = nameless.map(|row| row.sums.moves).sum();
        let why = "why is told only with everyone's".into();
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

/// One row of those that have the same key.
fn summed<K: Hash + Eq>(
    rows: impl Iterator<Item = MoveRow>,
    key: impl Fn(&MoveRow) -> K,
) -> Vec<MoveRow> {
    let mut sums = Vec::new();
    merge(&mut sums, rows, key, |sum: &mut MoveRow, row| sum.sums.add(&row.sums));
    sums
}
