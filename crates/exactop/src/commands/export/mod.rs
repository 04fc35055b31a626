//! `exactop export`: recorded windows in a form that other tools read, and into a store of many machines.

mod clickhouse;
mod parquet;

pub use clickhouse::StoreArgs;

use crate::failure::{complain, Failure};
use clap::Subcommand;
use exactop_recording::Recording;

/// What `--help` ends with.
pub const NOTES: &str = "\
Examples:
  TZ=UTC exactop export parquet -t 'yesterday 00:00+24h' --to cpu
  duckdb -c \"select comm, sum(run_ns) from 'cpu/*/rows.parquet' group by comm order by 2 desc\"
  exactop export clickhouse --to https://store:8443 --login /etc/exactop/store

Parquet: for each day (UTC) there is a directory, day=YYYY-MM-DD, with accounts.parquet, rows.parquet, groups.parquet and
charges.parquet. Files of an earlier export of the same day are replaced, unless they have windows that this one has not (--replace:
even then). docs/reference/recording.md has the columns. A URL is that of a server that takes PUT, such as WebDAV: https://files/books/HOST.

ClickHouse: the tables of crates/fleet/schema.sql. What the store has is not sent again. docs/how-to/fleet.md has more.";

/// The forms.
#[derive(Debug, Subcommand)]
pub enum ExportArgs {
    /// Parquet: accounts, rows, groups and charges of each window, for DuckDB, pandas and others
    Parquet(parquet::ParquetArgs),
    /// ClickHouse: accounts and charges of each window, into a store of many machines, each window once
    Clickhouse(clickhouse::ClickhouseArgs),
}

/// Exports.
///
/// # Errors
/// What cannot be read, written or sent, and where there is nothing.
pub fn run(typed: &ExportArgs) -> Result<(), Failure> {
    match typed {
        ExportArgs::Parquet(typed) => parquet::run(typed),
        ExportArgs::Clickhouse(typed) => clickhouse::run(typed),
    }
}

/// Says which files are passed by.
fn complain_of(recording: &Recording) {
    recording.unreadable().iter().for_each(|error| complain(&error.to_string()));
}

/// No window is of that time.
fn nothing() -> Failure {
    Failure::failed("no window ends in that time ('exactop record list' says what is there)")
}
