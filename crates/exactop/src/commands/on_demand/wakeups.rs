//! `exactop wakeups`: shows which task wakes which, how many at once, and which wake-ups are
//! useless.

use super::shared::Show;
use super::windows::WindowArgs;
use crate::failure::Failure;
use crate::options::looking::Places;
use crate::options::pace::PaceArgs;
use crate::options::parse;
use exactop_model::on_demand::wakeups::{herds, HERD_CALLS, HERD_FAN, HERD_UNPRODUCTIVE};
use exactop_model::on_demand::{Subject, SubjectWindow};
use exactop_sources::on_demand::boxed;
use exactop_sources::on_demand::wakeups::{Options, Wakeups, WORK_NS};

/// Show which tasks wake which, how many at once, and which wake-ups are for nothing
#[derive(Debug, clap::Args)]
#[command(after_help = notes())]
pub struct Args {
    #[command(flatten)]
    look: WindowArgs,
    /// Count a wake-up as useful if the woken thread used more CPU time than this
    #[arg(long, value_name = "MICROSECONDS", default_value_t = WORK_NS / 1000, value_parser = parse::number::<u64>)]
    work_us: u64,
    /// Exit with 3 if a window had a thundering herd
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    pace: PaceArgs,
}

/// How the verdict is reached, for `--help`.
fn notes() -> String {
    format!(
        "A wake-up is for nothing if the thread runs and returns to the same wait (the same futex, or the \
         same call with the same first argument). In between it makes no system calls but futex, poll \
         and similar ones, or calls that return EAGAIN, and it uses no more CPU time than --work-us. \
         Locks that it queues for on the way belong to the same wake-up.\n\n\
         Thundering herd: at least {HERD_CALLS} calls of one thread (about one futex) in the window, each \
         of which woke {HERD_FAN} or more on average, {} % or more of them for nothing.\n\n\
         On a terminal each window is drawn over the previous one until q; with -n the last window \
         stays.",
        100.0 * HERD_UNPRODUCTIVE
    )
}

/// Prints windows.
///
/// # Errors
/// The failure, or the signal that ended the command.
pub fn run(typed: &Args) -> Result<(), Failure> {
    let show = Show::new(Subject::Wakeups, &typed.look, typed.pace.resolve()?)?;
    let work_ns = typed.work_us.saturating_mul(1000);
    let options = Options { pids: typed.look.pid.clone(), work_ns, ..Options::default() };
    let mut found = false;
    let see = |window: &SubjectWindow| {
        let SubjectWindow::Wakeups(window) = window else { return };
        found |= !herds(window).is_empty();
    };
    let places = places(typed.look.looking.places()?, work_ns)?;
    show.run_with(places, || Wakeups::open_with(&options).map(boxed), see)?;
    match found && typed.check {
        true => Err(Failure::Found),
        false => Ok(()),
    }
}

/// Checks `--work-us`: a daemon's programs use one threshold of work for all readers.
fn places(places: Places, work_ns: u64) -> Result<Places, Failure> {
    match places {
        Places::Socket(_) if work_ns != WORK_NS => Err(Failure::usage(format!(
            "--work-us: a daemon counts with {} for all its readers: leave it out, or as root take \
             --source own",
            WORK_NS / 1000
        ))),
        Places::Either(_) if work_ns != WORK_NS => Ok(Places::Own),
        places => Ok(places),
    }
}
