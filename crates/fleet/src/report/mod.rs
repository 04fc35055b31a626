//! What happened in a fleet in a stretch of time: where all CPUs' time went and who used it, as one page.

mod asking;
mod cut;
mod figures;
mod once;
mod page;
mod plots;
mod read;

pub use crate::By;
pub use cut::Cut;
pub use figures::{Asked, Did, Figures, Group};
pub use page::page;

use crate::by::shown;
use crate::check::Balance;
use crate::sums::Sums;

/// A row: what all groups of one name did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Row {
    pub name: String,
    pub run_ns: u128,
    /// `None`: some host does not tell it.
    pub lat_ns: Option<u128>,
    pub throttle_ns: Option<u128>,
    pub exited: u128,
    /// Hosts on which it had a row.
    pub hosts: u64,
}

/// A piece of time, of windows that end in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Piece {
    pub from_ns: i128,
    pub to_ns: i128,
    pub sums: Sums,
    /// Of the first rows, in their order.
    pub run_ns: Vec<u128>,
}

/// A stretch of a fleet's time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What its rows stand for.
    pub by: By,
    /// Where its first window begins and its last one ends, by the hosts' wall clocks.
    pub from_ns: i128,
    /// The latter.
    pub to_ns: i128,
    /// Of all windows, each once.
    pub sums: Sums,
    /// Those with the most CPU time first.
    pub rows: Vec<Row>,
    /// Pieces of it that have windows.
    pub pieces: Vec<Piece>,
    /// Whether its books balance.
    pub balance: Balance,
}

impl Report {
    /// A row's name as it is told.
    fn shown(&self, row: &Row) -> String {
        shown(self.by, &row.name)
    }
}

#[cfg(test)]
mod tests;
