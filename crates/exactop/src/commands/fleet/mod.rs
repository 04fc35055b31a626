//! `exactop fleet`: the books of many machines, where `exactop export` put them.

mod check;
pub mod diff;
mod report;

use crate::failure::{complain, Failure};
use clap::Subcommand;
use exactop_fleet::Parquet;

/// What `--help` ends with.
pub const NOTES: &str = "\
Examples:
  exactop fleet check --from /srv/books                  every window once, sums, gaps, clocks
  exactop fleet check --from https://store:8443 --login /etc/exactop/store --json
  exactop fleet report --from /srv/books -t '14:00+1h' --by unit
  exactop fleet report --from /srv/books --by pod --format html -o fleet.html
  exactop fleet report --from https://store:8443 --login /etc/exactop/store -t '14:00+1h'
  exactop diff -a '02:00+1h' -b '03:00+1h' --changed -next /srv/books     what a rollout changed

A directory has accounts.parquet and charges.parquet of any number of machines, in it or anywhere below: 'exactop export
parquet --to DIR/HOST' for each. A URL is that of a ClickHouse with the tables of fleet/schema.sql.

Exit status of check: 0 the balance holds, 3 it does not, 1 something failed. docs/fleet.md has more.";

/// What to do with them.
#[derive(Debug, Subcommand)]
pub enum FleetArgs {
    /// Whether they balance: each window once, no gaps, clocks that agree, sums to the nanosecond
    Check(check::CheckArgs),
    /// What happened in a stretch of time, on all machines together, in words and figures, or drawn
    Report(report::ReportArgs),
}

/// Reads them.
///
/// # Errors
/// What cannot be read, and a balance that does not hold.
pub fn run(typed: &FleetArgs) -> Result<(), Failure> {
    match typed {
        FleetArgs::Check(typed) => check::run(typed),
        FleetArgs::Report(typed) => report::run(typed),
    }
}

/// Says what is passed by.
fn complain_of(books: &Parquet) {
    if books.skipped() > 0 {
        complain(&format!(
            "not looked into: {} directories that are links or lie more than 8 deep",
            books.skipped()
        ));
    }
}
