//! Exit codes, and errors as one line for a person.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use exactop_model::text::did_you_mean::nearest;
use std::fmt;
use std::io;
use std::process::ExitCode;
use std::sync::OnceLock;

/// Something failed.
pub const FAILED: u8 = 1;
/// Wrong use: options, configuration, no terminal.
pub const USAGE: u8 = 2;
/// --check found what it looks for.
pub const FOUND: u8 = 3;

/// The running subcommand, as a prefix of lines on standard error.
static SUBCOMMAND: OnceLock<String> = OnceLock::new();

/// Sets the subcommand's name in front of lines on standard error; empty: none.
pub fn speak_for(subcommand: String) {
    // An earlier name stays: there is one command line.
    let _ = SUBCOMMAND.set(subcommand);
}

/// Why the command does not exit with 0.
#[derive(Debug)]
pub enum Failure {
    /// Wrong use.
    Usage(String),
    /// A failure.
    Failed(anyhow::Error),
    /// A signal ended the command, after it cleaned up.
    Signal(i32),
    /// The error has already been printed.
    Told,
    /// The exit code of a command that exactop ran; with an error line if it did not start.
    #[cfg_attr(not(feature = "bpf"), allow(dead_code))]
    Ended(u8, Option<String>),
    /// --check found what it looks for.
    Found,
}

impl Failure {
    /// Wrong use, in one line.
    pub fn usage(message: impl fmt::Display) -> Failure {
        Failure::Usage(message.to_string())
    }

    /// A failure, in one line.
    pub fn failed(message: impl fmt::Display) -> Failure {
        Failure::Failed(anyhow::anyhow!("{message}"))
    }

    /// A failure to do `what`, with the kernel's reason.
    pub fn cannot<E: Into<io::Error>>(what: &'static str) -> impl Fn(E) -> Failure {
        move |error| {
            Failure::Failed(anyhow::Error::new(error.into()).context(format!("cannot {what}")))
        }
    }

    /// True if the only failure is that the reader closed the pipe.
    pub fn is_broken_pipe(&self) -> bool {
        let Failure::Failed(error) = self else { return false };
        let broken = |cause: &(dyn std::error::Error + 'static)| {
            cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
        };
        error.chain().any(broken)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Failure {
        Failure::Failed(error)
    }
}

/// Prints a failure and returns its exit code.
pub fn report(failure: &Failure) -> ExitCode {
    match failure {
        Failure::Usage(message) => {
            complain(message);
            ExitCode::from(USAGE)
        }
        // The reader of the output closed it, which is no error.
        failure if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Failure::Failed(error) => {
            complain(&format!("{error:#}"));
            ExitCode::from(FAILED)
        }
        Failure::Signal(signal) => ExitCode::from(u8::try_from(128 + signal).unwrap_or(FAILED)),
        Failure::Told => ExitCode::from(FAILED),
        Failure::Ended(status, why) => {
            if let Some(why) = why {
                complain(why);
            }
            ExitCode::from(*status)
        }
        Failure::Found => ExitCode::from(FOUND),
    }
}

/// Prints one line on standard error with the subcommand in front, whatever bytes the message
/// holds. A write error is ignored.
pub fn complain(message: &str) {
    use io::Write;
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let whose = match SUBCOMMAND.get().map(String::as_str) {
        None | Some("") => String::new(),
        Some(subcommand) => format!("{subcommand}: "),
    };
    let _ =
        writeln!(io::stderr(), "exactop: {whose}{}", exactop_model::text::escape::harmless(&line));
}

/// Turns clap's error into one line; `help` prints the usage and further hints. `below`: commands
/// that may follow at this place.
pub fn from_clap(error: &clap::Error, help: &str, below: &[String]) -> Failure {
    if let Some(which) = known_commands(error, below) {
        return Failure::usage(format!("{which} (see '{help}')"));
    }
    let text = error.to_string();
    let what = text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
    let mut tips = text.lines().filter_map(|line| line.trim().strip_prefix("tip: "));
    // A user who wrote an option meant one: no value begins like an option.
    let tip = tips.find(|tip| !tip.starts_with("to pass '")).map(String::from);
    let tip = tip.unwrap_or_else(|| format!("see '{help}'"));
    Failure::usage(format!("{what} ({tip})"))
}

/// Longer lists of commands are not printed in a line.
const LISTED: usize = 12;

/// The available commands, if the command is missing or unknown.
fn known_commands(error: &clap::Error, below: &[String]) -> Option<String> {
    let names = below.join(", ");
    match error.kind() {
        _ if below.is_empty() => None,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            Some(format!("which one? {names}"))
        }
        ErrorKind::InvalidSubcommand => {
            let Some(ContextValue::String(found)) = error.get(ContextKind::InvalidSubcommand)
            else {
                return None;
            };
            let near = nearest(found, below.iter().map(String::as_str));
            let near = near.map(|near| format!(": did you mean '{near}'?")).unwrap_or_default();
            Some(match below.len() <= LISTED {
                true => format!("'{found}' is none of {names}{near}"),
                false => format!("there is no command '{found}'{near}"),
            })
        }
        _ => None,
    }
}
