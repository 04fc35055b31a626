//! `exactop wakeups`: who wakes whom, how many at once, and for nothing.

use super::shared::{look, Windows};
use super::windows::{Forms, WindowArgs};
use crate::failure::Failure;
use crate::options::looking::Places;
use crate::options::pace::PaceArgs;
use crate::options::parse;
use crate::options::resolved::are_there;
use clap::Args;
use exactop_model::on_demand::wakeups::{herds, HERD_CALLS, HERD_FAN, HERD_UNPRODUCTIVE};
use exactop_model::on_demand::Looked;
use exactop_service::ask::What;
use exactop_sources::on_demand::wakeups::{Options, Wakeups, WORK_NS};
use exactop_views::on_demand::wakeups;

/// What to look at.
#[derive(Debug, Args)]
pub struct WakeupsArgs {
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
pub fn notes() -> String {
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
pub fn run(typed: &WakeupsArgs) -> Result<(), Failure> {
    let pace = typed.look.pace(typed.pace.resolve()?)?;
    are_there(None, &typed.look.pid)?;
    let work_ns = typed.work_us.saturating_mul(1000);
    let options = Options { pids: typed.look.pid.clone(), work_ns, ..Options::default() };
    let mut found = false;
    let next = |windows: &mut Windows<Wakeups>| {
        let window = windows.next(Wakeups::window, |looked| match looked {
            Looked::Wakeups(window) => Some(window),
            _ => None,
        })?;
        found |= !herds(&window).is_empty();
        Ok::<_, String>(window)
    };
    let forms = Forms {
        text: &wakeups::text,
        json: &wakeups::json,
        csv_header: wakeups::csv_header,
        csv: &wakeups::csv,
    };
    let ask = look(What::Wakeups, pace, &typed.look.pid);
    let places = places(typed.look.looking.places(), work_ns)?;
    let open = || Windows::open(places, ask, || Wakeups::open(&options));
    typed.look.show(pace, open, next, &forms)?;
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
