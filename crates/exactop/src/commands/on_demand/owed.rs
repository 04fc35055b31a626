//! `exactop owed`: shows how long tasks waited for a CPU while another CPU was idle, and why.

use super::shared::Show;
use super::windows::WindowArgs;
use crate::failure::Failure;
use crate::options::pace::PaceArgs;
use exactop_model::on_demand::owed::Cause;
use exactop_model::on_demand::Subject;

/// Show how long tasks waited for a CPU while another CPU was idle, by group and cause
#[derive(Debug, clap::Args)]
#[command(after_help = notes())]
pub struct Args {
    #[command(flatten)]
    look: WindowArgs,
    #[command(flatten)]
    pace: PaceArgs,
}

const NOTES: &str = "\
WAIT: time that the group's tasks waited in a run queue for this cause. A group's rows sum to its wait.
The causes wakeup, balance and numa are owed: at each instant an idle CPU could have run the task.
Owed idle time counts no idle CPU and no task twice, so it exceeds neither the idle time nor the waits.
-p limits the waiting tasks. Of two idle CPUs whose sets of tasks overlap in part, one may count too much.

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
    Show::new(Subject::Owed, &typed.look, typed.pace.resolve()?)?.run()
}
