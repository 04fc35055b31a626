//! `exactop moves`: which tasks go to another CPU, from which to which, why, and whether it paid.

use super::by_thread::{By, BY};
use super::shared::Show;
use super::windows::WindowArgs;
use crate::failure::Failure;
use crate::options::pace::PaceArgs;
use crate::options::parse;
use exactop_model::on_demand::moves::Cause;
use exactop_model::on_demand::Subject;

/// Show which tasks go to another CPU, from which to which, why, and whether it paid
#[derive(Debug, clap::Args)]
#[command(after_help = notes())]
pub struct Args {
    #[command(flatten)]
    look: WindowArgs,
    /// Whose moves are one row
    #[arg(long, value_parser = parse::one_of(BY), default_value = "process")]
    by: By,
    #[command(flatten)]
    pace: PaceArgs,
}

const NOTES: &str = "\
BEFORE: how long it had waited for a CPU on the average, of those that waited in a run queue; AFTER:
from the move until it ran. PAID: it ran before anything else came onto the CPU it had left, so it
would have waited longer there. NOT: where it had been the CPU was idle or became so before it ran,
so it could have run there by then. Of the rest, which is neither, it cannot be told; nor of those
who could not stay (-). A birth on another CPU than the parent's (fork) is told, too; the kernel does
not count it as a migration, and so it is in no sum of CPUs.

On a terminal each window is drawn over the one before until q; the last of a number of them stays.";

/// What the lines mean, for --help.
fn notes() -> String {
    let cause = |cause: Cause| format!("  {:<9} {}\n", cause.name(), cause.meaning());
    let causes: String = Cause::ALL.into_iter().map(cause).collect();
    format!("Causes:\n{causes}\n{NOTES}")
}

/// Prints windows.
///
/// # Errors
/// What failed, or the signal.
pub fn run(typed: &Args) -> Result<(), Failure> {
    let show = Show::of(Subject::Moves, &typed.look, typed.pace.resolve()?)?;
    Show { threads: typed.by == By::Thread, ..show }.run()
}
