//! `exactop moves`: which tasks go to another CPU, from which to which, why, and whether it paid.

use super::shared::{look, Windows};
use super::windows::{Forms, WindowArgs};
use crate::failure::Failure;
use crate::options::pace::PaceArgs;
use crate::options::parse::{self, Word};
use crate::options::resolved::are_there;
use clap::Args;
use exactop_model::on_demand::moves::Cause;
use exactop_model::on_demand::Looked;
use exactop_service::ask::What;
use exactop_sources::on_demand::moves::Moves;
use exactop_views::on_demand::moves;

/// What to look at.
#[derive(Debug, Args)]
pub struct MovesArgs {
    #[command(flatten)]
    look: WindowArgs,
    /// Whose moves are one row
    #[arg(long, value_parser = parse::one_of(BY), default_value = "process")]
    by: By,
    #[command(flatten)]
    pace: PaceArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Process,
    Thread,
}

const BY: &[Word<By>] =
    &[("process", By::Process, "All threads of a process"), ("thread", By::Thread, "One thread")];

const NOTES: &str = "\
BEFORE: how long it had waited for a CPU on the average, of those that waited in a run queue; AFTER:
from the move until it ran. PAID: it ran before anything else came onto the CPU it had left, so it
would have waited longer there. NOT: where it had been the CPU was idle or became so before it ran,
so it could have run there by then. Of the rest, which is neither, it cannot be told; nor of those
who could not stay (-). A birth on another CPU than the parent's (fork) is told, too; the kernel does
not count it as a migration, and so it is in no sum of CPUs.

On a terminal each window is drawn over the one before until q; the last of a number of them stays.";

/// What the lines mean, for --help.
pub fn notes() -> String {
    let cause = |cause: Cause| format!("  {:<9} {}\n", cause.name(), cause.meaning());
    let causes: String = Cause::ALL.into_iter().map(cause).collect();
    format!("Causes:\n{causes}\n{NOTES}")
}

/// Prints windows.
///
/// # Errors
/// What failed, or the signal.
pub fn run(typed: &MovesArgs) -> Result<(), Failure> {
    let (pace, pids) = (typed.look.pace(typed.pace.resolve()?)?, &typed.look.pid);
    let threads = typed.by == By::Thread;
    are_there(None, pids)?;
    let forms = Forms {
        text: &|window, sheet| moves::text(window, threads, sheet),
        json: &|window| moves::json(window, threads),
        csv_header: moves::csv_header,
        csv: &|window| moves::csv(window, threads),
    };
    let ask = look(What::Moves, pace, pids);
    let open = || Windows::open(typed.look.looking.places(), ask, || Moves::open(pids));
    let next = |windows: &mut Windows<Moves>| {
        windows.next(Moves::window, |looked| match looked {
            Looked::Moves(window) => Some(window),
            _ => None,
        })
    };
    typed.look.show(pace, open, next, &forms)
}
