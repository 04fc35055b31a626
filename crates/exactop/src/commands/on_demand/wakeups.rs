//! `exactop wakeups`: who wakes whom, how many at once, and for nothing.

use super::windows::{self, Look, Windows};
use crate::failure::Failure;
use clap::Args;
use exactop_model::on_demand::wakeups::{
    herds, WakeupWindow, HERD_CALLS, HERD_FAN, HERD_UNPRODUCTIVE,
};
use exactop_sources::on_demand::wakeups::{Options, Wakeups, WORK_NS};
use exactop_views::on_demand::wakeups;

/// What to look at.
#[derive(Debug, Args)]
pub struct Command {
    #[command(flatten)]
    look: Look,
    /// A thread that was woken and used more CPU time than this has done something
    #[arg(long, value_name = "MICROSECONDS", default_value_t = WORK_NS / 1000)]
    work_us: u64,
    /// Exit with 3 if a window had a thundering herd
    #[arg(long)]
    check: bool,
    /// The interval in seconds [default: 1] and how many windows [default: until stopped]
    #[arg(value_name = "INTERVAL|COUNT", allow_negative_numbers = true)]
    words: Vec<String>,
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
pub fn run(command: &Command) -> Result<(), Failure> {
    let pace = windows::pace(&command.words)?;
    command.look.check()?;
    let work_ns = command.work_us.saturating_mul(1000);
    let options = Options { pids: command.look.pid.clone(), work_ns };
    let open = || {
        let source = Wakeups::open(&options).map_err(Failure::failed)?;
        Ok(Source { source, found: false })
    };
    let shown = command.look.show(pace, open)?;
    if shown.found && command.check {
        return Err(Failure::Found);
    }
    Ok(())
}

struct Source {
    source: Wakeups,
    found: bool,
}

impl Windows for Source {
    type Window = WakeupWindow;

    fn next(&mut self) -> Result<WakeupWindow, Failure> {
        let window = self.source.window().map_err(Failure::failed)?;
        self.found |= !herds(&window).is_empty();
        Ok(window)
    }

    fn text(&self, window: &WakeupWindow, rows: usize) -> String {
        wakeups::text(window, rows)
    }

    fn json(&self, window: &WakeupWindow) -> String {
        wakeups::json(window)
    }

    fn csv_header(&self) -> Vec<u8> {
        wakeups::csv_header()
    }

    fn csv(&self, window: &WakeupWindow) -> Vec<u8> {
        wakeups::csv(window)
    }
}
