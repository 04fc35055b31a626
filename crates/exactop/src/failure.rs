//! Errors as one line of text, and the exit code of each.

use crate::exit_code::{self, FAILED, FOUND, USAGE};
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::process::ExitCode;
use std::sync::OnceLock;

/// The running subcommand, as a prefix of lines on standard error.
static SUBCOMMAND: OnceLock<String> = OnceLock::new();

/// Sets the subcommand's name in front of lines on standard error; empty: none.
pub fn speak_for(subcommand: String) {
    // An earlier name stays: there is one command line.
    let _ = SUBCOMMAND.set(subcommand);
}

/// Reason for an exit code other than 0.
#[derive(Debug)]
pub enum Failure {
    /// Wrong use.
    Usage(String),
    /// A failure.
    Failed(anyhow::Error),
    /// A signal ended the command, after it cleaned up.
    Signal(i32),
    /// The error has already been printed.
    Reported,
    /// The exit code of a command that exactop ran; with an error line if it did not start.
    #[cfg_attr(not(feature = "bpf"), allow(dead_code))]
    Ended(u8, Option<String>),
    /// A check found a problem: exit code 3.
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
        // The reader of the output closed the pipe, which is not an error.
        failure if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Failure::Failed(error) => {
            complain(&format!("{error:#}"));
            ExitCode::from(FAILED)
        }
        Failure::Signal(signal) => ExitCode::from(exit_code::of_signal(*signal)),
        Failure::Reported => ExitCode::from(FAILED),
        Failure::Ended(status, why) => {
            if let Some(why) = why {
                complain(why);
            }
            ExitCode::from(*status)
        }
        Failure::Found => ExitCode::from(FOUND),
    }
}

/// Prints one line on standard error with the subcommand in front, and escapes the message. If the
/// message ends with an error of the kernel, the line has a remedy in place of its number. Ignores
/// write errors.
pub fn complain(message: &str) {
    use io::Write;
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let whose = match SUBCOMMAND.get().map(String::as_str) {
        None | Some("") => String::new(),
        Some(subcommand) => format!("{subcommand}: "),
    };
    let remedy = remedy(&line).map(|remedy| format!(": {remedy}")).unwrap_or_default();
    let line = exactop_model::text::escape::harmless(unnumbered(&line));
    let _ = writeln!(io::stderr(), "exactop: {whose}{line}{remedy}");
}

/// The line before the number of the kernel's error at its end, and the number.
fn numbered(line: &str) -> Option<(&str, i32)> {
    let (words, number) = line.strip_suffix(')')?.rsplit_once(" (os error ")?;
    Some((words, number.parse().ok()?))
}

/// The line without that number: the kernel's words say it.
fn unnumbered(line: &str) -> &str {
    numbered(line).map_or(line, |(words, _)| words)
}

/// The remedy for the kernel's error at the end of a line.
fn remedy(line: &str) -> Option<&'static str> {
    let (_, number) = numbered(line)?;
    Some(match Errno::from_raw_os_error(number) {
        Errno::PERM | Errno::ACCESS => "run as root, or change the permissions",
        Errno::NOENT | Errno::NOTDIR => "check the path",
        Errno::EXIST => "remove it, or give another path",
        Errno::ISDIR => "give a file, not a directory",
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG => "free space, or write to another place",
        Errno::ROFS => "write to another place, or mount it writable",
        Errno::LOOP | Errno::NAMETOOLONG => "give a shorter path without links",
        Errno::MFILE | Errno::NFILE => "raise the limit of open files (ulimit -n)",
        Errno::AGAIN => "raise the limit of processes (ulimit -u), or try again",
        Errno::NOMEM => "free memory, or raise the memory limit",
        Errno::NOSYS | Errno::OPNOTSUPP => {
            "use a later kernel; 'exactop doctor' lists what it lacks"
        }
        Errno::ADDRINUSE => "choose another address or port, or stop its owner",
        Errno::ADDRNOTAVAIL => "choose an address of this machine",
        Errno::CONNREFUSED | Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::TIMEDOUT => {
            "check the address, and that its server runs"
        }
        Errno::SRCH => "give a process that runs",
        Errno::IO => "check the disk or the device (dmesg)",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_kernel_gets_a_remedy() {
        for (errno, remedy_of_it) in [(2, "check the path"), (13, "run as root")] {
            let error = io::Error::from_raw_os_error(errno);
            let line = format!("cannot read /x: {error}");
            assert!(remedy(&line).is_some_and(|found| found.starts_with(remedy_of_it)), "{line}");
        }
    }

    #[test]
    fn a_line_with_its_own_remedy_stays_as_it_is() {
        let error = io::Error::from_raw_os_error(2);
        assert_eq!(remedy(&format!("cannot read /x: {error}: give another")), None);
        assert_eq!(remedy("no process 1 (os error x)"), None);
        assert_eq!(remedy("no process 1"), None);
    }
}
