//! For commands that attach programs while they run, or read what a daemon's tell.

use super::parse::{self, Word};
use crate::failure::Failure;
use clap::Args;
use exactop_service::SOCKET;
use std::path::{Path, PathBuf};

/// Whose programs are to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Programs {
    /// The daemon's where it serves, else our own.
    Auto,
    /// The daemon's.
    Daemon,
    /// Our own.
    Own,
}

/// In words.
const PROGRAMS: &[Word<Programs>] = &[
    ("auto", Programs::Auto, "Those of a daemon where one serves, else its own"),
    ("daemon", Programs::Daemon, "Those of 'exactop daemon', by its socket; for its group"),
    ("own", Programs::Own, "Its own, attached while it runs; needs privileges"),
];

/// Whose, and where.
#[derive(Clone, Debug, Args)]
pub struct LookingArgs {
    /// Whose programs tell
    #[arg(long, value_parser = parse::one_of(PROGRAMS), default_value = "auto")]
    source: Programs,
    /// The daemon's socket
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
}

/// Where to look, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Places {
    /// On this socket, and nowhere else.
    Socket(PathBuf),
    /// On this socket, and if that cannot be with programs of our own.
    Either(PathBuf),
    /// With programs of our own.
    Own,
}

impl LookingArgs {
    /// What is replayed has been measured already.
    ///
    /// # Errors
    /// Something was typed all the same.
    pub fn not_of_a_recording(&self) -> Result<(), Failure> {
        match self.source != Programs::Auto || self.socket.is_some() {
            true => {
                Err(Failure::usage("--source and --socket are for measuring, not for --replay"))
            }
            false => Ok(()),
        }
    }

    /// What was asked for comes to.
    pub fn places(&self) -> Places {
        let socket = self.socket.as_deref().unwrap_or(Path::new(SOCKET));
        match self.source {
            Programs::Own => Places::Own,
            Programs::Daemon => Places::Socket(socket.into()),
            Programs::Auto if self.socket.is_some() => Places::Socket(socket.into()),
            Programs::Auto if socket.exists() => Places::Either(socket.into()),
            Programs::Auto => Places::Own,
        }
    }
}

impl Places {
    /// The first that can be opened: on a socket, or with programs of our own.
    ///
    /// # Errors
    /// Why the last that was tried cannot.
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
        LookingArgs { source, socket: socket.map(PathBuf::from) }.places()
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
    fn only_who_asked_for_either_gets_the_other() {
        let open = |places: Places| places.open(|_| Err::<&str, _>("closed"), || Ok("own"));
        assert_eq!(open(Places::Socket("/s".into())), Err("closed"));
        assert_eq!(open(Places::Either("/s".into())), Ok("own"));
        assert_eq!(open(Places::Own), Ok("own"));
    }
}
