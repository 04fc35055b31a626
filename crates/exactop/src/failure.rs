//! How the command ends: exit codes, and errors as one line for a person.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use exactop_model::text::did_you_mean::nearest;
use std::fmt;
use std::io;
use std::process::ExitCode;
use std::sync::OnceLock;

/// Something failed.
pub const FAILED: u8 = 1;
/// The command was used wrongly: options, configuration, no terminal.
pub const USAGE: u8 = 2;
/// What --check asks for was found.
pub const FOUND: u8 = 3;

/// The subcommand that is run, as lines on standard error have it.
static SUBCOMMAND: OnceLock<String> = OnceLock::new();

/// From now on lines on standard error say that they are of this subcommand; empty: of none.
pub fn speak_for(subcommand: String) {
    // There is one command line.
    let _ = SUBCOMMAND.set(subcommand);
}

/// Why the command does not end with 0.
#[derive(Debug)]
pub enum Failure {
    /// Wrong use.
    Usage(String),
    /// Something failed.
    Failed(anyhow::Error),
    /// A signal ended it; everything was put back in order.
    Signal(i32),
    /// What there is to say was said already.
    Told,
    /// A command that was run for someone decides the exit status; one line if it could not be.
    #[cfg_attr(not(feature = "bpf"), allow(dead_code))]
    Ended(u8, Option<String>),
    /// What --check asks for was found.
    Found,
}

impl Failure {
    /// Wrong use, in one line.
    pub fn usage(message: impl fmt::Display) -> Failure {
        Failure::Usage(message.to_string())
    }

    /// Something failed, in one line.
    pub fn failed(message: impl fmt::Display) -> Failure {
        Failure::Failed(anyhow::anyhow!("{message}"))
    }

    /// What could not be done, and the kernel's reason.
    pub fn cannot<E: Into<io::Error>>(what: &'static str) -> impl Fn(E) -> Failure {
        move |error| {
            Failure::Failed(anyhow::Error::new(error.into()).context(format!("cannot {what}")))
        }
    }

    /// Whether it is only that nobody reads any more.
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

/// Reports a failure and yields its exit code.
pub fn report(failure: &Failure) -> ExitCode {
    match failure {
        Failure::Usage(message) => {
            complain(message);
            ExitCode::from(USAGE)
        }
        // Whoever read the output has seen enough: that is not an error.
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

/// One line on standard error with the subcommand in front, whatever the message is made of. Nothing
/// more can be done if that fails too.
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

/// What clap has to say, in one line; the usage and the hints on further lines are in what `help`
/// prints. `below`: the commands that may follow where this one stood.
pub fn from_clap(error: &clap::Error, help: &str, below: &[String]) -> Failure {
    if let Some(which) = which(error, below) {
        return Failure::usage(format!("{which} (see '{help}')"));
    }
    let text = error.to_string();
    let what = text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
    let mut tips = text.lines().filter_map(|line| line.trim().strip_prefix("tip: "));
    // Who wrote an option meant one: no value begins so.
    let tip = tips.find(|tip| !tip.starts_with("to pass '")).map(String::from);
    let tip = tip.unwrap_or_else(|| format!("see '{help}'"));
    Failure::usage(format!("{what} ({tip})"))
}

/// More commands than this are not listed in a line.
const LISTED: usize = 12;

/// Which commands there are, where one is missing or is none of them.
fn which(error: &clap::Error, below: &[String]) -> Option<String> {
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
