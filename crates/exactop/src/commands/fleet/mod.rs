//! `exactop fleet`: reads the books of many machines from where `exactop export` put them.

mod check;
mod report;

use crate::failure::{complain, Failure};
use clap::Subcommand;
use exactop_export::clickhouse::Client;
use exactop_fleet::{Parquet, Store};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::time::Duration;

/// After this time without output, a line says that the command waits for the store.
const SILENT: Duration = Duration::from_secs(1);

/// The error for a time range without windows.
const NO_WINDOW: &str =
    "no host has a window that ends in this time range: give another with --time";

/// The notes at the end of `--help`.
pub const NOTES: &str = "\
A directory has accounts.parquet and charges.parquet of any number of machines, in it or anywhere below. 'exactop export
parquet --to DIR/HOST' writes them for each host. A URL names a ClickHouse with the tables of crates/fleet/schema.sql.

Exit status of check: 0 the books balance, 3 they do not, 1 something failed. docs/how-to/fleet.md has more.";

/// Subcommands of `exactop fleet`.
#[derive(Debug, Subcommand)]
pub enum FleetArgs {
    /// Check that the books balance: each window once, no gaps, clocks that agree, sums to the
    /// nanosecond
    Check(check::CheckArgs),
    /// Report what happened on all machines in a time range, in words and figures or as HTML
    Report(report::ReportArgs),
}

/// Checks or reports.
///
/// # Errors
/// The books cannot be read, or they do not balance.
pub fn run(typed: &FleetArgs) -> Result<(), Failure> {
    match typed {
        FleetArgs::Check(typed) => check::run(typed),
        FleetArgs::Report(typed) => report::run(typed),
    }
}

/// The store, after it has answered.
///
/// # Errors
/// It does not answer.
pub fn reached(client: Client) -> Result<Store, Failure> {
    let waits = format!("waiting for the store at {}", client.url());
    let (ends, ended) = channel::<()>();
    let told = std::thread::Builder::new().name("waits".into()).spawn(move || {
        if ended.recv_timeout(SILENT) == Err(RecvTimeoutError::Timeout) {
            complain(&waits);
        }
    });
    let told = told.map_err(Failure::cannot("start the thread that reports the wait"))?;
    let store = Store::open(client).map_err(Failure::failed);
    drop(ends);
    // The thread's line must stand before the error. It prints and ends.
    let _ = told.join();
    store
}

/// Reports the skipped directories.
pub fn complain_of(books: &Parquet) {
    if books.skipped() > 0 {
        let many = if books.skipped() == 1 { "directory" } else { "directories" };
        complain(&format!("skipped {} {many}: links, or more than 8 deep", books.skipped()));
    }
}
