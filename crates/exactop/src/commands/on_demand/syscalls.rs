//! `exactop syscalls`: how often, how long, how many failed.

use super::windows::{self, Look, Windows};
use crate::failure::Failure;
use crate::options::nearest;
use clap::{Args, ValueEnum};
use exactop_model::on_demand::syscalls::{SyscallWindow, SyscallsBy};
use exactop_model::CallNr;
use exactop_sources::on_demand::syscalls::{Options, Syscalls};
use exactop_views::on_demand::syscalls;

/// What to count.
#[derive(Debug, Args)]
pub struct Command {
    #[command(flatten)]
    look: Look,
    /// What is summed in one row; with process and thread also how often they came onto a CPU
    #[arg(long, value_enum, default_value_t)]
    by: By,
    /// Names of system calls, then the interval in seconds [default: 1] and how many windows
    /// [default: until stopped]
    #[arg(value_name = "CALL|INTERVAL|COUNT", allow_negative_numbers = true)]
    words: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum By {
    /// Everyone's calls of one kind
    #[default]
    Call,
    /// Those of one process
    Process,
    /// Those of one thread
    Thread,
}

/// Examples and what a row means, for --help.
pub const NOTES: &str = "\
A call counts when it returns, with its whole time, or when its thread exits in it; IN is how many
had not returned when the window ended. It is an error when it returns -4095 to -1.

Examples:
  exactop syscalls accept4                       how many connections a second
  exactop syscalls -p PID --by thread close 1    close(2) per worker, and dispatches per thread";

/// Prints windows.
///
/// # Errors
/// What failed, or the signal.
pub fn run(command: &Command) -> Result<(), Failure> {
    let at = command.words.iter().position(|w| windows::is_number(w));
    let (names, numbers) = command.words.split_at(at.unwrap_or(command.words.len()));
    let calls = names.iter().map(|name| named(name)).collect::<Result<Vec<_>, _>>()?;
    let pace = windows::pace(numbers)?;
    command.look.check()?;
    let by = match command.by {
        By::Call => SyscallsBy::Call,
        By::Process => SyscallsBy::Process,
        By::Thread => SyscallsBy::Thread,
    };
    let options = Options { by, pids: command.look.pid.clone(), calls };
    let open = || Syscalls::open(&options).map(Source).map_err(Failure::failed);
    command.look.show(pace, open).map(|_| ())
}

fn named(name: &str) -> Result<CallNr, Failure> {
    CallNr::named(name).ok_or_else(|| {
        let hint = match nearest(name, CallNr::names()) {
            Some(near) => format!("did you mean {near}?"),
            None => "syscalls(2) lists them".into(),
        };
        Failure::usage(format!("no system call '{name}' on this machine: {hint}"))
    })
}

struct Source(Syscalls);

impl Windows for Source {
    type Window = SyscallWindow;

    fn next(&mut self) -> Result<SyscallWindow, Failure> {
        self.0.window().map_err(Failure::failed)
    }

    fn text(&self, window: &SyscallWindow, rows: usize) -> String {
        syscalls::text(window, rows)
    }

    fn json(&self, window: &SyscallWindow) -> String {
        syscalls::json(window)
    }

    fn csv_header(&self) -> Vec<u8> {
        syscalls::csv_header()
    }

    fn csv(&self, window: &SyscallWindow) -> Vec<u8> {
        syscalls::csv(window)
    }
}
