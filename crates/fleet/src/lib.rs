//! The books of many machines: their balance, reports and comparisons. It takes the exported tables
//! of all hosts and gives a balance, a report or a comparison. Only the command and the tests of
//! the simulator may depend on it.
//!
//! Rows come from Parquet files of `exactop export parquet` ([`Parquet`]) or from ClickHouse tables
//! of `exactop export clickhouse` ([`Store`]). Sums have 128 bits: 10,000 machines of 64 CPUs use
//! 2^64 ns in 8 hours. Names are escaped again for display, because a file may hold any bytes.
//!
//! Modules:
//!
//! - `parquet` (with `chunks`) and `store`: sources of `rows`.
//! - `check`: the balance. `host` compares a host's windows, `clocks` compares hosts.
//! - `report`: `read` sums `figures`, from files with each window `once`, or by `asking` a store;
//!   `page` and `plots` show them.
//! - `compare`: a `side` is a range summed by host and group; `basis` selects the hosts to compare.
#![forbid(unsafe_code)]

mod by;
pub mod check;
mod chunks;
pub mod compare;
mod parquet;
pub mod report;
mod rows;
mod store;
mod sums;

pub use exactop_model::owner::Grouping;
pub use parquet::Parquet;
pub use rows::{Account, Books, Charged, HostBoot, PreviousWindow, Unread, Used};
pub use store::Store;
pub use sums::Sums;

use exactop_export::clickhouse::StoreError;
use exactop_files::FileError;
use std::path::PathBuf;

/// Names with commas between.
fn words(all: &[Grouping]) -> String {
    all.iter().map(|by| by.name()).collect::<Vec<_>>().join(", ")
}

/// Formats an instant, ns since the epoch.
pub type Clock<'a> = &'a dyn Fn(i128) -> String;

/// Why a fleet's books cannot be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The names of the fields say it.
pub enum FleetError {
    /// A file or a directory cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file is not an export.
    #[error("{}: {why}", .path.display())]
    Table {
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Two passes over the books gave different sums.
    #[error("the books changed while they were read: try again when their writer is done")]
    Changed,
    /// The tables cannot be summed in this way.
    #[error("--by {by}: the books of many machines have no such sums: choose one of {}", words(&Grouping::FLEET))]
    NotSummed {
        /// The requested way.
        by: Grouping,
    },
    /// The directory has no tables.
    #[error("no accounts.parquet in {} or below it: run 'exactop export parquet --to DIR' to write one", .path.display())]
    Nothing { path: PathBuf },
}
