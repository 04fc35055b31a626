//! A report of a fleet's time on one page: where all CPUs' time went and which groups used it.

mod asking;
mod cut;
mod figures;
mod once;
mod page;
mod plots;
mod read;

pub use crate::Grouping;
pub use cut::Cut;
pub use figures::{Figures, Group, GroupSums, ReportQuery};
pub use page::page;

use crate::by::shown;
use crate::check::Balance;
use crate::sums::Sums;

/// A row: the sums of all groups with one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Row {
    pub name: String,
    pub run_ns: u128,
    /// `None` if a host lacks it.
    pub lat_ns: Option<u128>,
    pub throttle_ns: Option<u128>,
    pub exited: Option<u128>,
    /// Hosts with this row.
    pub hosts: u64,
}

/// A piece of time, with the windows that end in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Piece {
    pub from_ns: i128,
    pub to_ns: i128,
    pub sums: Sums,
    /// CPU time of the first rows, in their order, ns.
    pub run_ns: Vec<u128>,
}

/// A report of a fleet's time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// How rows are summed.
    pub by: Grouping,
    /// Beginning of the first window, by the hosts' wall clocks, ns since the epoch.
    pub from_ns: i128,
    /// End of the last window, by the hosts' wall clocks, ns since the epoch.
    pub to_ns: i128,
    /// Sums of all windows, each once.
    pub sums: Sums,
    /// Rows, those with the most CPU time first.
    pub rows: Vec<Row>,
    /// Pieces that have windows.
    pub pieces: Vec<Piece>,
    /// The balance of the books.
    pub balance: Balance,
}

impl Report {
    /// A row's name for display.
    fn shown(&self, row: &Row) -> String {
        shown(self.by, &row.name)
    }
}

#[cfg(test)]
mod tests;
