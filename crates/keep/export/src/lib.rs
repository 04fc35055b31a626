//! Recordings as Parquet files and as rows of ClickHouse. It takes recorded windows and gives the
//! tables `accounts`, `rows`, `groups`, `charges`, `waits`, `pairs`, `blame` and `histograms`. The command, the fleet and
//! its simulator may depend on it.
//!
//! An export has a directory for each day (UTC) with a file for each table. `accounts.parquet` has the balance
//! of each window's CPU time, and `rows.parquet` has its tasks. `groups.parquet` has its control
//! groups. `charges.parquet` has its largest groups by name, and `~other`. `waits.parquet` and
//! `pairs.parquet` have its blame book, `blame.parquet` its largest pairs by name, and
//! `histograms.parquet` its histograms of waits.
//!
//! Figures are nanoseconds and counts as unsigned 64-bit numbers; an unknown figure is null. In
//! each window, the sums of `rows`, of `groups` and of `charges` equal `tasks_ns` and `exited_ns`
//! of `accounts`.
//!
//! `accounts`, `charges` and `blame` also go to a store of many machines, ClickHouse ([`clickhouse`]).
//! [`onward`] sends windows there or into files as they close.
//!
//! Modules:
//!
//! - `tables`: columns, and the rows of a window; `charges`: rows by name; `blamed`: the blame book; `table`: typed columns
//!   in row groups; `names`: users and control groups.
//! - `days`: files by day, in a directory or by PUT (`objects`); `losses` refuses an export that
//!   would lose windows.
//! - `clickhouse`: `stock` lists what the store has, `batch` and its token, `client` with retries,
//!   `address` with login and certificates, `courier` gathers batches. `wire`: HTTP with retries.
//! - `onward`: an `exporter` thread, `following` a log from its `cursor`. Its `carrier` is the
//!   `courier` or `filing` (batches as files).
#![forbid(unsafe_code)]

mod blamed;
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
pub use days::{Exported, Files, Replacing, WindowSource};
pub use filing::Shelf;
pub use objects::Objects;
pub use table::{Field, FieldType};
pub use tables::{fields, TableName};

use clickhouse::StoreError;
use days::Days;
use exactop_files::{Directory, FileError};
use exactop_recording::{Recording, RecordingError, TimeRange, Windows};
use parquet::errors::ParquetError;

/// Why an export failed.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The recording cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Parquet cannot be written.
    #[error("cannot write Parquet: {0}")]
    Parquet(#[from] ParquetError),
    /// A store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The recording does not name its host.
    #[error("the recording does not name its host, and a store needs the name: set EXACTOP_HOST and record again")]
    Nameless,
    /// A file that would be replaced has more windows.
    #[error(
        "{name} has windows that this export lacks ({windows}, the first of '{host}'): export the whole day (UTC), or \
         to another place, or pass --replace"
    )]
    Loses {
        /// The file, relative to the destination.
        name: String,
        /// Number of windows that would be lost.
        windows: u64,
        /// Host of the first of them, escaped.
        host: String,
    },
    /// A file that would be replaced is not an export.
    #[error(
        "{name} is not a table of 'exactop export' ({why}): export to another place, or pass --replace"
    )]
    Strange {
        /// The file, relative to the destination.
        name: String,
        /// What is wrong with it.
        why: ParquetError,
    },
    /// The thread cannot be started.
    #[error("cannot start the exporter: {0}: raise the limit of processes")]
    Start(#[source] std::io::Error),
    /// A sum of a window exceeds 64 bits.
    #[error("a sum of one window is {sum} ns, more than 64 bits hold: check the recording with 'exactop record verify'")]
    TooLarge {
        /// The sum, ns.
        sum: u128,
    },
}

/// Writes the windows of a time into a directory, or to a server that stores files. Writes nothing
/// if existing windows of a day would be lost.
pub fn export(
    recording: Recording,
    when: TimeRange,
    files: &mut dyn Files,
) -> Result<Exported, ExportError> {
    let mut windows = Windows::from_recording(recording, when)?;
    let mut days = Days::new(TableName::ALL);
    while windows.advance()? {
        days.window(windows.replay())?;
    }
    let done = days.finish()?;
    done.keeps(files)?;
    done.write(files)
}

/// Tables `accounts`, `charges` and `blame` of many machines, from windows that are not recorded.
pub struct FleetTables(Days);

impl Default for FleetTables {
    fn default() -> FleetTables {
        FleetTables(Days::new(&TableName::FLEET))
    }
}

impl FleetTables {
    /// Adds a window of a host and its boot.
    pub fn put(
        &mut self,
        host: &str,
        boot_id: &str,
        had: &WindowSource,
    ) -> Result<(), ExportError> {
        self.0.put(Some((host, boot_id)), had)
    }

    /// Writes the tables into a directory; replaces existing files.
    pub fn write(self, mut directory: &Directory) -> Result<Exported, ExportError> {
        self.0.finish()?.write(&mut directory)
    }
}
