//! `exactop switches`: counts how often threads leave their CPU, and why.

use super::by_thread::{RowUnit, BY};
use super::shared::Show;
use super::windows::WindowArgs;
use crate::failure::Failure;
use crate::options::pace::PaceArgs;
use crate::options::parse;
use exactop_model::on_demand::Subject;

/// Count context switches by reason: preempted, blocked, yielded, exited
#[derive(Debug, clap::Args)]
#[command(after_help = NOTES)]
pub struct Args {
    #[command(flatten)]
    look: WindowArgs,
    /// Sum the switches by this
    #[arg(long, value_parser = parse::one_of(BY), default_value = "process")]
    by: RowUnit,
    #[command(flatten)]
    pace: PaceArgs,
}

/// The meaning of the columns, for `--help`.
const NOTES: &str = "\
PREEMPTED: the task was runnable, and another task took its CPU. BLOCKED: it slept. YIELDED: it called
sched_yield(2). EXITED: it ended. The sum is what the kernel counts (nr_switches in /proc/PID/sched).

On a terminal each window is drawn over the previous one until q; with -n the last window stays.";

/// Prints windows.
///
/// # Errors
/// The failure, or the signal that ended the command.
pub fn run(typed: &Args) -> Result<(), Failure> {
    let show = Show::new(Subject::Switches, &typed.look, typed.pace.resolve()?)?;
    Show { threads: typed.by == RowUnit::Thread, ..show }.run()
}
