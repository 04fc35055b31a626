//! Recordings as Parquet files and as rows of ClickHouse. It takes recorded windows and gives the tables
//! `accounts`, `rows`, `groups` and `charges`. The command, the fleet and its simulator may depend on it.
//!
//! For each day (UTC) a directory with `accounts.parquet` (where the CPUs' time
//! went in each window), `rows.parquet` (who used it), `groups.parquet` (the same by control group) and
//! `charges.parquet` (by name: the largest groups and `~other`).
//!
//! Figures are nanoseconds and counts as unsigned 64-bit numbers; what is not known is null. The sums
//! of `rows`, of `groups` and of `charges` are the `tasks_ns` and `exited_ns` of `accounts`, window by window.
//!
//! The same tables `accounts` and `charges` go to a store of many machines, ClickHouse ([`clickhouse`]), and there or into files as
//! windows close ([`onward`]).
//!
//! Modules: `tables` (columns, and what a window puts into them), `charges` (by name), `table` (typed columns in
//! row groups), `days`, to a directory or by PUT (`objects`), without `losses` of what is there; and into a store
//! of many machines: `clickhouse/` (`stock` what it has, `batch` what is sent with which token, `client` as often
//! as it takes, `address` whom to believe, `wire` how often and for how long, `courier` windows on their way); and
//! as windows close into it or into files, each a `carrier`: `onward/` (`exporter` a thread that goes on with a
//! log, by `following` it from its `cursor`), `filing` (batches as files that replace themselves).
#![forbid(unsafe_code)]

mod carrier;
mod charges;
pub mod clickhouse;
mod days;
mod filing;
mod losses;
mod names;
mod objects;
pub mod onward;
mod table;
mod tables;
mod wire;

pub use charges::GROUPS;
pub use days::{Exported, Files, Had, Replacing};
pub use filing::Shelf;
pub use objects::Objects;
pub use table::{Field, Kind};
pub use tables::{fields, Which};

use clickhouse::StoreError;
use days::Days;
use exactop_files::{Directory, FileError};
use exactop_recording::{Recording, RecordingError, When, Windows};
use parquet::errors::ParquetError;

/// Why nothing is exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The recording cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Parquet has no place for it.
    #[error("cannot write Parquet: {0}")]
    Parquet(#[from] ParquetError),
    /// A store does not take it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its windows would be nobody's.
    #[error(
        "the recording does not say whose windows these are: no store can tell them from others'"
    )]
    Nameless,
    /// What would be replaced has more.
    #[error(
        "{name} has windows that this export has not ({windows}, the first of '{host}'): export all of that day (UTC), or \
         to another place, or say --replace"
    )]
    Loses {
        /// The file, below where files go.
        name: String,
        /// So many.
        windows: u64,
        /// Whose the first of them is, harmless.
        host: String,
    },
    /// What would be replaced is something else.
    #[error(
        "{name} is no table of 'exactop export' ({why}): export to another place, or say --replace"
    )]
    Strange {
        /// The file, below where files go.
        name: String,
        /// What is wrong with it.
        why: ParquetError,
    },
    /// There can be no thread.
    #[error("cannot start the exporter: {0}: raise the limit of processes")]
    Start(#[source] std::io::Error),
    /// A sum of a window outgrew its column.
    #[error("a sum of one window is {sum} ns, more than 64 bits hold: 'exactop record verify' checks the recording")]
    TooLarge {
        /// The sum.
        sum: u128,
    },
}

/// Writes the windows of a time below a directory, or to a store that takes files. Nothing is written where a day's windows that
/// are there would be lost.
///
/// # Errors
/// [`ExportError`]
pub fn export(
    recording: Recording,
    when: When,
    files: &mut dyn Files,
) -> Result<Exported, ExportError> {
    let mut windows = Windows::of(recording, when)?;
    let mut days = Days::new(&Which::ALL);
    while windows.advance()? {
        days.window(windows.replay())?;
    }
    let done = days.finish()?;
    done.keeps(files)?;
    done.write(files)
}

/// The tables of many machines, `accounts` and `charges`, of windows that come from no recording.
pub struct FleetTables(Days);

impl Default for FleetTables {
    fn default() -> FleetTables {
        FleetTables(Days::new(&[Which::Accounts, Which::Charges]))
    }
}

impl FleetTables {
    /// A window of a host and its boot.
    ///
    /// # Errors
    /// [`ExportError`]
    pub fn put(&mut self, host: &str, boot_id: &str, had: &Had) -> Result<(), ExportError> {
        self.0.put(Some((host, boot_id)), had)
    }

    /// Writes what was put below a directory, and replaces what is there.
    ///
    /// # Errors
    /// [`ExportError`]
    pub fn write(self, mut directory: &Directory) -> Result<Exported, ExportError> {
        self.0.finish()?.write(&mut directory)
    }
}
