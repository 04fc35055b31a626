//! `exactop wakeups`: who wakes whom, how many at once, and for nothing.

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

/// Show who wakes whom, how many at once, and which wake-ups are for nothing
#[derive(Debug, clap::Args)]
#[command(after_help = notes())]
pub struct Args {
    #[command(flatten)]
    look: WindowArgs,
    /// A thread that was woken and used more CPU time than this has done something
    #[arg(long, value_name = "MICROSECONDS", default_value_t = WORK_NS / 1000, value_parser = parse::number::<u64>)]
    work_us: u64,
    /// Exit with 3 if a window had a thundering herd
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    pace: PaceArgs,
}

/// How a verdict comes about, for --help.
fn notes() -> String {
    format!(
        "A wake-up was for nothing when the thread ran and went back to the wait it came from (the \
         same futex, or the same call with the same first argument) without a system call in \
         between but futex, poll and their like, and calls that returned EAGAIN, and without more \
         CPU time than --work-us. Locks it queued at on the way belong to the same wake-up.\n\n\
         Thundering herd: at least {HERD_CALLS} calls of one thread (about one futex) in the window that woke \
         {HERD_FAN} or more on the average, {} % or more of them for nothing.\n\n\
         On a terminal each window is drawn over the one before until q; the last of a number of \
         them stays.",
        100.0 * HERD_UNPRODUCTIVE
    )
}

/// Prints windows.
///
/// # Errors
/// What failed, or the signal.
pub fn run(typed: &Args) -> Result<(), Failure> {
    let show = Show::of(Subject::Wakeups, &typed.look, typed.pace.resolve()?)?;
    let work_ns = typed.work_us.saturating_mul(1000);
    let options = Options { pids: typed.look.pid.clone(), work_ns, ..Options::default() };
    let mut found = false;
    let see = |window: &SubjectWindow| {
        let SubjectWindow::Wakeups(window) = window else { return };
        found |= !herds(window).is_empty();
    };
    let places = places(typed.look.looking.places(), work_ns)?;
    show.run_with(places, || Wakeups::open_with(&options).map(boxed), see)?;
    match found && typed.check {
        true => Err(Failure::Found),
        false => Ok(()),
    }
}

/// A daemon's programs have one measure of work for all who look.
fn places(places: Places, work_ns: u64) -> Result<Places, Failure> {
    match places {
        Places::Socket(_) if work_ns != WORK_NS => Err(Failure::usage(format!(
            "--work-us: a daemon counts with {} for all who look; leave it out, or as root take \
             --source own",
            WORK_NS / 1000
        ))),
        Places::Either(_) if work_ns != WORK_NS => Ok(Places::Own),
        places => Ok(places),
    }
}
