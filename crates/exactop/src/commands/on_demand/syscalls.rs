//! `exactop syscalls`: counts system calls, their time and their failures.

use super::shared::Show;
use super::windows::WindowArgs;
use crate::failure::Failure;
use crate::options::pace;
use crate::options::parse::{self, Word};
use exactop_model::on_demand::syscalls::SyscallsBy;
use exactop_model::on_demand::Subject;
use exactop_model::text::did_you_mean::nearest;
use exactop_model::SyscallNr;
use exactop_service::ask::Look;

/// Count and time system calls, by call, process or thread
#[derive(Debug, clap::Args)]
#[command(after_help = NOTES)]
pub struct Args {
    #[command(flatten)]
    look: WindowArgs,
    /// Sum the calls by this; process and thread also show how often a thread came onto a CPU
    #[arg(long, value_parser = parse::one_of(BY), default_value = "call")]
    by: SyscallsBy,
    /// Names of system calls, then the interval in seconds, as -d, and the number of windows, as -n
    #[arg(value_name = "CALL|INTERVAL|COUNT", allow_negative_numbers = true)]
    words: Vec<String>,
}

const BY: &[Word<SyscallsBy>] = &[
    ("call", SyscallsBy::Call, "All calls of one kind"),
    ("process", SyscallsBy::Process, "Calls of one process"),
    ("thread", SyscallsBy::Thread, "Calls of one thread"),
];

/// Examples and the meaning of a row, for `--help`.
const NOTES: &str = "\
A call counts with its whole time when it returns, or when its thread exits in it. IN: calls that had not
returned when the window ended. A call fails when it returns -4095 to -1; the last column shows which
errors, and how often.

On a terminal each window is drawn over the previous one until q; with -n the last window stays.";

/// Prints windows.
///
/// # Errors
/// The failure, or the signal that ended the command.
pub fn run(typed: &Args) -> Result<(), Failure> {
    let at = typed.words.iter().position(|w| pace::is_number(w));
    let (names, numbers) = typed.words.split_at(at.unwrap_or(typed.words.len()));
    let calls = names.iter().map(|name| named(name)).collect::<Result<Vec<_>, _>>()?;
    let show = Show::new(Subject::Syscalls, &typed.look, pace::pace(numbers)?)?;
    Show { ask: Look { by: typed.by, calls, ..show.ask }, ..show }.run()
}

fn named(name: &str) -> Result<SyscallNr, Failure> {
    SyscallNr::named(name).ok_or_else(|| {
        let remedy = match nearest(name, SyscallNr::names()) {
            Some(near) => format!("did you mean '{near}'?"),
            None => "see syscalls(2) for the names".into(),
        };
        Failure::usage(format!("no system call '{name}' on this machine: {remedy}"))
    })
}
