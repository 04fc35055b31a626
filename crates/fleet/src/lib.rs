//! The books of many machines: whether they balance, what happened in them, and what differs between them. It takes
//! the exported tables of all hosts and gives a balance, a report or a comparison. The command alone may depend on
//! it, and the tests of the simulator.
//!
//! Rows come from Parquet as `exactop export parquet` writes it ([`Parquet`]) or from ClickHouse, which
//! `exactop export clickhouse` fills ([`Store`]). Sums are of 128 bits: 10,000 machines of 64 CPUs use 2^64 ns in 8
//! hours. Names are escaped once more where they are shown: whoever writes a file writes what they like.
//!
//! Modules: rows from `parquet` (by `chunks`) or a `store`; `check/` (`host`: windows against each other; `clocks`:
//! hosts against each other), `report/` (`read` in passes of `figures`, from files with each window `once` or by
//! `asking` a store; `page`, `plots`), `compare/` (a `side` summed by host and group; `basis`: which hosts are
//! weighed).
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

pub use exactop_model::owner::By;
pub use parquet::Parquet;
pub use rows::{Account, Before, Books, Charged, Unread, Used, Whose};
pub use store::Store;
pub use sums::Sums;

use exactop_export::clickhouse::StoreError;
use exactop_files::FileError;
use std::path::PathBuf;

/// The words, with commas between.
fn words(all: &[By]) -> String {
    all.iter().map(|by| by.name()).collect::<Vec<_>>().join(", ")
}

/// How an instant is told, ns since the epoch.
pub type Clock<'a> = &'a dyn Fn(i128) -> String;

/// Why a fleet's books cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// A file or a directory cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// What is in a file is not what is exported.
    #[error("{}: {why}", .path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A store does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Passes over the files do not come to the same.
    #[error("the books changed while they were read: ask again when whoever writes them is done")]
    Changed,
    /// The tables are not summed by this.
    #[error("--by {by}: the books of many machines are summed by {}", words(&By::FLEET))]
    NotSummed {
        /// By what.
        by: By,
    },
    /// There are no tables.
    #[error("{}: no accounts.parquet is in it or below ('exactop export parquet --to DIR' writes one)", .path.display())]
    Nothing {
        /// The directory.
        path: PathBuf,
    },
}
