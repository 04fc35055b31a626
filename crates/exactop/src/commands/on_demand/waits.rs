//! `exactop waits`: where threads sleep, how long they queue for a CPU and behind whom, who wakes
//! them.

use super::windows::{self, Look, Windows};
use crate::failure::Failure;
use clap::{Args, ValueEnum};
use exactop_model::on_demand::waits::WaitWindow;
use exactop_sources::on_demand::waits::WaitTimes;
use exactop_views::on_demand::waits;

/// What to look at.
#[derive(Debug, Args)]
pub struct Command {
    #[command(flatten)]
    look: Look,
    /// What is summed in one row
    #[arg(long, value_enum, default_value_t)]
    by: By,
    /// The interval in seconds [default: 1] and how many windows [default: until stopped]
    #[arg(value_name = "INTERVAL|COUNT", allow_negative_numbers = true)]
    words: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum By {
    /// All threads of a process
    #[default]
    Process,
    /// One thread
    Thread,
}

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
pub fn run(command: &Command) -> Result<(), Failure> {
    let pace = windows::pace(&command.words)?;
    command.look.check()?;
    let threads = command.by == By::Thread;
    let open = || {
        let source = WaitTimes::open(&command.look.pid).map_err(Failure::failed)?;
        Ok(Source { source, threads })
    };
    command.look.show(pace, open).map(|_| ())
}

struct Source {
    source: WaitTimes,
    threads: bool,
}

impl Windows for Source {
    type Window = WaitWindow;

    fn next(&mut self) -> Result<WaitWindow, Failure> {
        self.source.window().map_err(Failure::failed)
    }

    fn text(&self, window: &WaitWindow, rows: usize) -> String {
        waits::text(window, self.threads, rows)
    }

    fn json(&self, window: &WaitWindow) -> String {
        waits::json(window, self.threads)
    }

    fn csv_header(&self) -> Vec<u8> {
        waits::csv_header()
    }

    fn csv(&self, window: &WaitWindow) -> Vec<u8> {
        waits::csv(window, self.threads)
    }
}
