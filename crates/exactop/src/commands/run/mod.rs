//! `exactop run`: a time(1) that counts every child, under any scheduling condition.

mod begun;
mod child;
mod condition;
mod following;
mod group;
mod one_run;
mod relay;
mod repeat;
mod report;
mod user;
mod waiting;

use crate::exit_code;
use crate::failure::{complain, Failure};
use crate::machine;
use crate::options::looking::LookingArgs;
use crate::recorded::{self, Shared};
use clap::Args;
use condition::Condition;
use exactop_model::run::RunReport;
use exactop_recording::Recorder;
use report::Format;
use std::ffi::OsString;
use std::path::PathBuf;

/// Options of `exactop run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    condition: Condition,
    /// Print the PID, wait for Enter, then start the command
    #[arg(long)]
    gate: bool,
    /// Run as this user, by name or number, with the user's groups and HOME, SHELL, USER, LOGNAME
    #[arg(id = "run_user", long = "user", value_name = "USER")]
    user: Option<String>,
    /// With --user: leave HOME, SHELL, USER and LOGNAME unchanged
    #[arg(long)]
    keep_env: bool,
    /// Deny new rights to the command and to all programs that it starts, also setuid ones (prctl(2))
    #[arg(long)]
    no_new_privs: bool,
    /// Run in this directory
    #[arg(long, value_name = "DIR")]
    chdir: Option<PathBuf>,
    /// Set a variable of the environment; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Split user and system time at every system call, which slows the calls; else the kernel's
    /// own count is used
    #[arg(long)]
    exact_split: bool,
    #[command(flatten)]
    ledger: LookingArgs,
    /// Print the report as POSIX defines it: real, user, sys
    #[arg(short, long, conflicts_with_all = ["format", "quiet"])]
    posix: bool,
    /// Print the report in this format with GNU time's letters: %e %U %S %P %M ...
    #[arg(short, long, value_name = "FORMAT", conflicts_with = "quiet")]
    format: Option<String>,
    /// Write the report to this file instead of standard error
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Also write the report as JSON (docs/reference/json.md); - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also record the machine into this directory, in windows of half a second ('exactop replay
    /// DIR')
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Write no report but the JSON
    #[arg(short, long)]
    quiet: bool,
    /// Run the command N times and report medians with 95 % intervals
    #[arg(long, value_name = "N", value_parser = crate::options::parse::count, conflicts_with_all = ["posix", "format", "gate", "record"])]
    repeat: Option<u64>,
    /// With --repeat: do N uncounted runs first, under each condition
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = crate::options::parse::number::<u64>)]
    warmup: u64,
    /// With --repeat: compare these conditions in turns, such as 'nice=0' 'nice=5 cpus=0'; other
    /// conditions on the command line hold for all
    #[arg(long, value_name = "CONDITION", num_args = 1.., value_parser = condition::parse)]
    compare: Vec<condition::Labelled>,
    /// The command and its arguments; after -- if it begins with -
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The contents of the report, for `--help`.
pub const NOTES: &str = "\
Counts every descendant of the command by birth: daemons, orphans, and children that no parent
waits for. The ledger of a running daemon counts them (no root), else a ledger of exactop's own (root, BPF).
Without either, only children that were waited for are known, as in time(1).

--weight and --max make a control group of its own, removed after its last process; --cgroup joins one.

exactop passes SIGTERM, HUP, INT, QUIT, USR1, USR2, CONT and TSTP on to the command, unless the terminal
sent them to both.

Exit status: that of the command; 128+N if signal N killed it; 125 exactop failed, 126 the command
could not be run, 127 it was not found.";

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err("write NAME=VALUE".into()),
    }
}

/// Runs the command, reports, and ends as the command ended.
///
/// # Errors
/// Always: with the command's exit status if exactop itself succeeded.
pub fn run(typed: &RunArgs) -> Result<(), Failure> {
    checked(typed).map_err(as_its_own)?;
    let relay = relay::Relay::new();
    let mut relay =
        relay.map_err(|error| ours(format!("cannot take signals for the command: {error}")))?;
    if let Some(times) = typed.repeat {
        return repeat::run(typed, times, &mut relay);
    }
    let record = |path| Shared::open(path, machine::this(None)?, recorded::kept());
    let recorder = typed.record.as_deref().map(record);
    let recorder = recorder.transpose().map_err(as_its_own)?;
    let report = one_run::run(typed, &typed.condition, &mut relay, recorder.as_ref())?;
    if let Some(recorder) = recorder {
        recorder.with(Recorder::finish);
        recorder.tell();
        if let Err(why) = &report.tree {
            complain(&unrecorded(recorder.with(|recorder| recorder.windows()), why));
        }
    }
    match tell(typed, &report) {
        // The reader of the output closed it, which is no error.
        Err(failure) if failure.is_broken_pipe() => {}
        told => told.map_err(as_its_own)?,
    }
    Err(Failure::Ended(exit_code::of_command(report.end.status()), None))
}

/// What a recording lacks if the ledger could not be opened or failed early.
fn unrecorded(windows: u64, why: &str) -> String {
    match windows {
        0 => format!("nothing was recorded: there was no ledger: {why}"),
        n => format!("the recording is incomplete: the ledger failed after {n} windows: {why}"),
    }
}

/// A failure of exactop, not of the command.
fn ours(why: impl std::fmt::Display) -> Failure {
    Failure::Ended(exit_code::RUN_FAILED, Some(why.to_string()))
}

/// Gives exactop's own failures their exit code, which differs from the command's.
pub fn as_its_own(failure: Failure) -> Failure {
    match failure {
        Failure::Usage(why) => ours(why),
        Failure::Failed(why) => ours(format!("{why:#}")),
        other => other,
    }
}

/// Checks the options before the command starts.
fn checked(typed: &RunArgs) -> Result<(), Failure> {
    following::checked(&typed.ledger, typed.exact_split)?;
    if let Some(format) = &typed.format {
        report::check_format(format)?;
    }
    let compared = typed.compare.iter().map(|c| &c.condition);
    compared.chain([&typed.condition]).try_for_each(Condition::check)
}

fn tell(typed: &RunArgs, report: &RunReport) -> Result<(), Failure> {
    let format = match (&typed.format, typed.posix, typed.quiet) {
        (_, _, true) => Format::None,
        (Some(letters), _, _) => Format::Letters(letters),
        (None, true, _) => Format::Posix,
        (None, false, _) => Format::Words,
    };
    report::write(report, format, typed.output.as_deref(), typed.json.as_deref())
}

#[cfg(test)]
mod tests {
    use super::unrecorded;

    #[test]
    fn a_ledger_that_failed_halfway_is_reported_as_such() {
        let none = "nothing was recorded: there was no ledger: not permitted";
        assert_eq!(unrecorded(0, "not permitted"), none);
        let some = "the recording is incomplete: the ledger failed after 3 windows: lost";
        assert_eq!(unrecorded(3, "lost"), some);
    }
}
