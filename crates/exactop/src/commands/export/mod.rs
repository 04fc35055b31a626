//! `exactop export`: writes recorded windows in formats of other tools, or into a store of many
//! machines.

mod clickhouse;
mod parquet;

pub use clickhouse::StoreArgs;

use crate::failure::{complain, Failure};
use clap::Subcommand;
use exactop_recording::Recording;

/// The notes at the end of `--help`.
pub const NOTES: &str = "\
DuckDB reads the tables:
  duckdb -c \"select comm, sum(run_ns) from 'cpu/*/rows.parquet' group by comm order by 2 desc\"

Parquet: each day (UTC) has a directory, day=YYYY-MM-DD, with accounts.parquet, rows.parquet, groups.parquet,
charges.parquet, and waits.parquet, pairs.parquet, blame.parquet and histograms.parquet of the blame book. Files of an
earlier export of the same day are replaced, unless they have windows that this export lacks (--replace: even then).
docs/reference/recording.md lists the columns. A URL names a server that takes PUT, such as WebDAV:
https://files/books/HOST.

ClickHouse: the tables are those of crates/fleet/schema.sql. Windows that the store has are not sent again. docs/how-to/fleet.md has more.";

/// Formats of `exactop export`.
#[derive(Debug, Subcommand)]
pub enum ExportArgs {
    /// Write Parquet files with accounts, rows, groups and charges of each window, for DuckDB,
    /// pandas and others
    Parquet(parquet::ParquetArgs),
    /// Send accounts and charges of each window to ClickHouse, each window once
    Clickhouse(clickhouse::ClickhouseArgs),
}

/// Exports.
///
/// # Errors
/// Windows cannot be read, written or sent, or the time range holds none.
pub fn run(typed: &ExportArgs) -> Result<(), Failure> {
    match typed {
        ExportArgs::Parquet(typed) => parquet::run(typed),
        ExportArgs::Clickhouse(typed) => clickhouse::run(typed),
    }
}

/// Reports the files that were skipped.
fn complain_of(recording: &Recording) {
    recording.unreadable().iter().for_each(|error| complain(&error.to_string()));
}
