//! Options for commands that attach programs while they run, or read a daemon's programs.

use super::parse::{self, Word};
use crate::failure::Failure;
use clap::Args;
use exactop_service::SOCKET;
use std::path::{Path, PathBuf};

/// The owner of the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Programs {
    /// The daemon's if it serves, else our own.
    Auto,
    /// The daemon's.
    Daemon,
    /// Our own.
    Own,
}

/// Words of `--source`.
const PROGRAMS: &[Word<Programs>] = &[
    ("auto", Programs::Auto, "The daemon's programs if it serves, else own ones"),
    (
        "daemon",
        Programs::Daemon,
        "Those of 'exactop daemon', over its socket; for users in the group exactop",
    ),
    ("own", Programs::Own, "Own programs, attached while the command runs; needs privileges"),
];

/// Programs to read.
#[derive(Clone, Debug, Args)]
pub struct LookingArgs {
    /// Take the figures from these BPF programs
    #[arg(long, value_parser = parse::one_of(PROGRAMS), default_value = "auto")]
    source: Programs,
    /// Use the daemon's socket at this path
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
}

/// Places to read programs from, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Places {
    /// This socket only.
    Socket(PathBuf),
    /// This socket, else programs of our own.
    Either(PathBuf),
    /// Programs of our own.
    Own,
}

impl LookingArgs {
    /// Checks that no daemon was named.
    ///
    /// # Errors
    /// One was; `why` says why there is none for this command.
    #[cfg(feature = "bpf")]
    pub fn are_own(&self, why: &str) -> Result<(), Failure> {
        match self.source == Programs::Daemon || self.socket.is_some() {
            true => Err(Failure::usage(why)),
            false => Ok(()),
        }
    }

    /// Checks that no option of measuring was given: a recording has its figures already.
    ///
    /// # Errors
    /// Such an option was given.
    pub fn not_of_a_recording(&self) -> Result<(), Failure> {
        match self.source != Programs::Auto || self.socket.is_some() {
            true => {
                Err(Failure::usage("--source and --socket conflict with --replay, which shows recorded windows: leave one out"))
            }
            false => Ok(()),
        }
    }

    /// The places that the options ask for.
    ///
    /// # Errors
    /// A socket was given, and programs that are not behind it.
    pub fn places(&self) -> Result<Places, Failure> {
        let socket = self.socket.as_deref().unwrap_or(Path::new(SOCKET));
        Ok(match self.source {
            Programs::Own if self.socket.is_some() => return Err(no_socket("own")),
            Programs::Own => Places::Own,
            Programs::Daemon => Places::Socket(socket.into()),
            Programs::Auto if self.socket.is_some() => Places::Socket(socket.into()),
            Programs::Auto if socket.exists() => Places::Either(socket.into()),
            Programs::Auto => Places::Own,
        })
    }
}

/// The refusal of a socket beside a source that reads none; `source` is its word.
pub fn no_socket(source: &str) -> Failure {
    Failure::usage(format!(
        "--source {source} reads no socket: leave --socket out, or take --source daemon"
    ))
}

impl Places {
    /// Opens the first place that can be opened: the socket, or programs of our own.
    ///
    /// # Errors
    /// The reason why the last place cannot be opened.
    pub fn open<T, E>(
        self,
        on: impl FnOnce(&Path) -> Result<T, E>,
        own: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        match self {
            Places::Socket(socket) => on(&socket),
            Places::Either(socket) => on(&socket).or_else(|_| own()),
            Places::Own => own(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(source: Programs, socket: Option<&str>) -> Places {
        LookingArgs { source, socket: socket.map(PathBuf::from) }.places().expect("they fit")
    }

    #[test]
    fn a_socket_that_is_named_is_meant() {
        let socket = || Places::Socket("/nonexistent/s".into());
        assert_eq!(places(Programs::Auto, Some("/nonexistent/s")), socket());
        assert_eq!(places(Programs::Daemon, Some("/nonexistent/s")), socket());
        assert_eq!(places(Programs::Daemon, None), Places::Socket(SOCKET.into()));
        assert_eq!(places(Programs::Own, None), Places::Own);
    }

    #[test]
    fn only_source_auto_falls_back_to_own_programs() {
        let open = |places: Places| places.open(|_| Err::<&str, _>("closed"), || Ok("own"));
        assert_eq!(open(Places::Socket("/s".into())), Err("closed"));
        assert_eq!(open(Places::Either("/s".into())), Ok("own"));
        assert_eq!(open(Places::Own), Ok("own"));
    }
}
