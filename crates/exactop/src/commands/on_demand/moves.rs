//! `exactop moves`: shows which tasks move to another CPU, from which to which, why, and whether
//! the move paid.

use super::by_thread::{RowUnit, BY};
use super::shared::Show;
use super::windows::WindowArgs;
use crate::failure::Failure;
use crate::options::pace::PaceArgs;
use crate::options::parse;
use exactop_model::on_demand::moves::Cause;
use exactop_model::on_demand::Subject;

/// Show which tasks move to another CPU, from which to which, why, and whether it paid
#[derive(Debug, clap::Args)]
#[command(after_help = notes())]
pub struct Args {
    #[command(flatten)]
    look: WindowArgs,
    /// Sum the moves by this
    #[arg(long, value_parser = parse::one_of(BY), default_value = "process")]
    by: RowUnit,
    #[command(flatten)]
    pace: PaceArgs,
}

const NOTES: &str = "\
BEFORE: how long moved tasks had waited in a run queue on average, of those that waited. AFTER: time
from the move until the task ran. PAID: the task ran before any other task got the CPU that it left,
so it would have waited longer there. NOT: the CPU that it left was idle, or became idle before the task
ran, so the task could have run there by then. The outcome of other moves is unknown. A move
that the task could not avoid has -. A birth on another CPU than the parent's (fork) is listed too; the
kernel does not count it as a migration, so no sum of CPUs includes it.

On a terminal each window is drawn over the previous one until q; with -n the last window stays.";

/// The meaning of the lines, for `--help`.
fn notes() -> String {
    let cause = |cause: Cause| format!("  {:<9} {}\n", cause.name(), cause.meaning());
    let causes: String = Cause::ALL.iter().copied().map(cause).collect();
    format!("Causes:\n{causes}\n{NOTES}")
}

/// Prints windows.
///
/// # Errors
/// The failure, or the signal that ended the command.
pub fn run(typed: &Args) -> Result<(), Failure> {
    let show = Show::new(Subject::Moves, &typed.look, typed.pace.resolve()?)?;
    Show { threads: typed.by == RowUnit::Thread, ..show }.run()
}
