//! Why the service cannot be used.

use exactop_recording::stream::StreamError;
use std::io;
use std::path::PathBuf;

/// The socket cannot be served, or what is behind it cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// Nobody serves there.
    #[error("no exactop daemon at {}: {error}", path.display())]
    Nobody {
        /// Which socket.
        path: PathBuf,
        /// What the kernel said.
        error: io::Error,
    },
    /// Somebody serves there, but not us.
    #[error("cannot connect to the daemon at {}: {error}: the group of its socket may (if nothing else is set: adduser USER exactop, and log in anew)", path.display())]
    NotAllowed {
        /// Which socket.
        path: PathBuf,
        /// What the kernel said.
        error: io::Error,
    },
    /// The socket cannot be made.
    #[error("cannot {what} {}: {error}", path.display())]
    Socket {
        /// Make, remove, listen on.
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Another daemon serves there.
    #[error("another daemon serves {} already: stop it, or give another socket", .0.display())]
    Held(PathBuf),
    /// The kernel refused.
    #[error("cannot {what}: {error}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Why not.
        error: io::Error,
    },
    /// It said why not.
    #[error("the daemon at {} says: {said}", path.display())]
    Refused {
        /// Which socket.
        path: PathBuf,
        /// Its words, escaped.
        said: String,
    },
    /// It is older than what it was asked.
    #[error(
        "the daemon at {} attaches no programs for others: it is older than this exactop; restart it, \
         or as root look without it (--source own)",
        path.display()
    )]
    Older {
        /// Which socket.
        path: PathBuf,
    },
    /// The same of descendants.
    #[error(
        "the daemon at {} follows no commands: it is older than this exactop; restart it, or as root run \
         without it (--source own)",
        path.display()
    )]
    FollowsNobody {
        /// Which socket.
        path: PathBuf,
    },
    /// What is asked for is longer than it reads.
    #[error("too much is asked for: a daemon reads {most} bytes of one question, these are {bytes}; name fewer processes or calls")]
    TooLong {
        /// So long it is.
        bytes: usize,
        /// So long it may be.
        most: usize,
    },
    /// It closed the connection.
    #[error("the daemon at {} closed the connection: it has ended, or this reader was too slow", .0.display())]
    Closed(PathBuf),
    /// Somebody took the connection and has said nothing so far.
    #[error("the daemon at {} is about to start: it has not answered yet", .0.display())]
    Starting(PathBuf),
    /// It closed the connection, and whoever serves there now cannot be reached.
    #[error("the daemon at {} closed the connection and has not come back: {why}", path.display())]
    Away {
        /// Which socket.
        path: PathBuf,
        /// What was said last.
        why: String,
    },
    /// It was opened before a fork: both processes would read from one stream.
    #[error("the connection to the daemon at {} is that of process {opened_by}, from which this one was forked: open one anew", path.display())]
    Forked {
        /// Which socket.
        path: PathBuf,
        /// Whose it is.
        opened_by: u32,
    },
    /// It does not answer.
    #[error("the daemon at {} has not answered for {seconds} s", path.display())]
    Silent {
        /// Which socket.
        path: PathBuf,
        /// How long.
        seconds: u64,
    },
    /// What it sends is no stream of ours.
    #[error("cannot read what the daemon at {} sends: {error}", path.display())]
    Stream {
        /// Which socket.
        path: PathBuf,
        /// What is wrong with it.
        error: StreamError,
    },
}

impl ServiceError {
    /// Why a socket cannot be connected to.
    pub(crate) fn unconnected(path: &std::path::Path, error: io::Error) -> ServiceError {
        match error.kind() {
            io::ErrorKind::PermissionDenied => {
                ServiceError::NotAllowed { path: path.into(), error }
            }
            _ => ServiceError::Nobody { path: path.into(), error },
        }
    }
}
