//! `exactop waits`: where threads sleep, how long they queue for a CPU and behind whom, who wakes
//! them.

use super::windows::{Forms, WindowArgs};
use crate::failure::Failure;
use crate::options::pace::PaceArgs;
use crate::options::parse::{self, Word};
use crate::options::resolved::are_there;
use clap::Args;
use exactop_sources::on_demand::waits::WaitTimes;
use exactop_views::on_demand::waits;

/// What to look at.
#[derive(Debug, Args)]
pub struct WaitsArgs {
    #[command(flatten)]
    look: WindowArgs,
    /// What is summed in one row
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

/// What the lines mean, for --help.
pub const NOTES: &str = "\
SLP, LCK, BLK: asleep, by the system call slept in, in per cent of the time of all its
threads. Run queue: waits for a CPU after a wake-up and after losing one, with the 99th
percentile (of a log-linear histogram: at most a quarter too high) and the longest. Ran instead: who
had that CPU meanwhile, as far back as its last 32 switches. Woken by: by whom, how often.";

/// Prints windows.
///
/// # Errors
/// What failed, or the signal.
pub fn run(typed: &WaitsArgs) -> Result<(), Failure> {
    let (pace, pids) = (typed.pace.resolve()?, &typed.look.pid);
    are_there(None, pids)?;
    let threads = typed.by == By::Thread;
    let forms = Forms {
        text: &|window, rows| waits::text(window, threads, rows),
        json: &|window| waits::json(window, threads),
        csv_header: waits::csv_header,
        csv: &|window| waits::csv(window, threads),
    };
    typed.look.show(pace, || WaitTimes::open(pids), WaitTimes::window, &forms)
}
