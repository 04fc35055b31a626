//! `exactop wakeups`: who wakes whom, how many at once, and for nothing.

use super::windows::{Forms, WindowArgs};
use crate::failure::Failure;
use crate::options::pace::PaceArgs;
use crate::options::resolved::are_there;
use clap::Args;
use exactop_model::on_demand::wakeups::{herds, HERD_CALLS, HERD_FAN, HERD_UNPRODUCTIVE};
use exactop_sources::on_demand::wakeups::{Options, Wakeups, WORK_NS};
use exactop_views::on_demand::wakeups;

/// What to look at.
#[derive(Debug, Args)]
pub struct WakeupsArgs {
    #[command(flatten)]
    look: WindowArgs,
    /// A thread that was woken and used more CPU time than this has done something
    #[arg(long, value_name = "MICROSECONDS", default_value_t = WORK_NS / 1000)]
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
         Thundering herd: at least {HERD_CALLS} calls of one thread in the window that woke \
         {HERD_FAN} or more on the average, {} % or more of them for nothing.",
        100.0 * HERD_UNPRODUCTIVE
    )
}

/// Prints windows.
///
/// # Errors
/// What failed, or the signal.
pub fn run(typed: &WakeupsArgs) -> Result<(), Failure> {
    let pace = typed.pace.resolve()?;
    are_there(None, &typed.look.pid)?;
    let work_ns = typed.work_us.saturating_mul(1000);
    let options = Options { pids: typed.look.pid.clone(), work_ns };
    let mut found = false;
    let next = |source: &mut Wakeups| {
        let window = source.window()?;
        found |= !herds(&window).is_empty();
        Ok(window)
    };
    let forms = Forms {
        text: &wakeups::text,
        json: &wakeups::json,
        csv_header: wakeups::csv_header,
        csv: &wakeups::csv,
    };
    typed.look.show(pace, || Wakeups::open(&options), next, &forms)?;
    match found && typed.check {
        true => Err(Failure::Found),
        false => Ok(()),
    }
}
