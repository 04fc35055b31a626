//! The command line as clap knows it, with the examples and the headings of `--help`.

mod examples;
#[cfg(test)]
mod tests;

use crate::cli::Cli;
use crate::options::needs;
use clap::{Arg, Command, CommandFactory, FromArgMatches};
use examples::EXAMPLES;
use std::ffi::OsString;

/// Headings of options, and the options below each. An option has the same heading in every
/// command; the others stay below `Options`.
const HEADINGS: &[(&str, &[&str])] = &[
    (
        "Output",
        &[
            "batch",
            "json",
            "csv",
            "iterations",
            "once",
            "check",
            "width",
            "list_fields",
            "html",
            "markdown",
            "format",
            "output",
            "posix",
            "quiet",
        ],
    ),
    ("Window", &["delay", "time"]),
    (
        "Rows",
        &[
            "rows",
            "pid",
            "user",
            "filter",
            "by",
            "hide_idle",
            "threads",
            "command_line",
            "per_cpu",
            "least",
            "least_of_row",
        ],
    ),
    ("Columns and order", &["sort", "columns", "preset"]),
    ("Source", &["source", "socket", "split", "irq", "budget", "exact_split", "blame", "replay"]),
    ("Recording", &["record", "dir", "keep", "max_size", "sync", "host"]),
    ("Store", &["from", "database", "login", "ca", "patience", "connect_timeout"]),
    ("Conditions", &["nice", "cpus", "sched", "weight", "max", "cgroup"]),
    ("Rights and surroundings", &["gate", "run_user", "keep_env", "no_new_privs", "chdir", "env"]),
    ("Repetition", &["repeat", "warmup", "compare"]),
];

/// Commands with at most this number of options list them without headings.
const FEW: usize = 8;

/// The whole command line.
pub fn command() -> Command {
    completed("", Cli::command())
}

/// Parses a command line.
///
/// # Errors
/// clap's error, also for `--help` and `--version`.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(args)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// A command and all below it, with examples and headings.
fn completed(path: &str, command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().into()).collect();
    let command = names.iter().fold(command, |command, name| {
        let path = format!("{path} {name}");
        command.mut_subcommand(name, |below| completed(path.trim_start(), below))
    });
    let command = needs::required(command);
    let options = command.get_arguments().filter(|arg| is_listed(arg)).count();
    let command = match options > FEW {
        true => command.mut_args(under_heading),
        false => command,
    };
    let notes = command.get_after_help().map(|notes| flowing(&notes.to_string()));
    match (EXAMPLES.iter().find(|(of, _)| *of == path), notes) {
        (None, None) => command,
        (None, Some(notes)) => command.after_help(notes),
        (Some((_, examples)), None) => command.after_help(lines(examples)),
        (Some((_, examples)), Some(notes)) => {
            command.after_help(format!("{}\n\n{notes}", lines(examples)))
        }
    }
}

/// True for an option that `--help` shows.
fn is_listed(arg: &Arg) -> bool {
    !arg.is_hide_set() && !arg.is_positional()
}

fn under_heading(arg: Arg) -> Arg {
    if arg.is_positional() || arg.get_help_heading().is_some() {
        return arg;
    }
    let id = arg.get_id().as_str();
    match HEADINGS.iter().find(|(_, ids)| ids.contains(&id)) {
        Some((heading, _)) => arg.help_heading(*heading),
        None => arg,
    }
}

/// Joins the lines of each paragraph, so that clap wraps them for the reader's terminal. Indented
/// lines stay as they are.
fn flowing(notes: &str) -> String {
    let mut flowing = String::new();
    for line in notes.lines() {
        let is_text = |line: &str| !line.is_empty() && !line.starts_with(' ');
        let goes_on = flowing.lines().last().is_some_and(is_text) && is_text(line);
        flowing += match goes_on && !flowing.ends_with('\n') {
            true => " ",
            false if flowing.is_empty() => "",
            false => "\n",
        };
        flowing += line;
    }
    flowing
}

/// Examples as lines, with their results in one column.
fn lines(examples: &[examples::Example]) -> String {
    let longest = examples.iter().map(|(line, _)| line.len()).max().unwrap_or(0);
    let line = |(line, result): &examples::Example| format!("\n  {line:<longest$}  {result}");
    format!("Examples:{}", examples.iter().map(line).collect::<String>())
}
