//! Errors of the service.

use exactop_recording::stream::StreamError;
use std::io;
use std::path::PathBuf;

/// The socket cannot be served, or the daemon behind it cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // The names of the fields say it.
pub enum ServiceError {
    /// No daemon listens on the socket.
    #[error("cannot reach an exactop daemon at {} ({error}): start 'exactop daemon', or give its --socket", path.display())]
    Nobody { path: PathBuf, error: io::Error },
    /// A daemon listens, but this user may not connect.
    #[error("cannot connect to the daemon at {}: {error}: join the group of its socket (by default: adduser USER exactop, then log in again)", path.display())]
    NotAllowed { path: PathBuf, error: io::Error },
    /// The socket cannot be created.
    #[error("cannot {what} {}: {error}", path.display())]
    Socket {
        /// The operation: make, remove, listen on.
        what: &'static str,
        path: PathBuf,
        error: io::Error,
    },
    /// Another daemon already listens on the socket.
    #[error("another daemon serves {} already: stop it, or give another socket", .0.display())]
    InUse(PathBuf),
    /// A system call failed.
    #[error("cannot {what}: {error}")]
    Io { what: &'static str, error: io::Error },
    /// The daemon refused, with its reason.
    #[error("the daemon at {} refuses: {said}", path.display())]
    Refused {
        path: PathBuf,
        /// The daemon's text, escaped.
        said: String,
    },
    /// The daemon is older than on-demand requests.
    #[error(
        "the daemon at {} attaches no programs for others, as it is older than this exactop: \
         restart it, or run as root with --source own",
        path.display()
    )]
    Older { path: PathBuf },
    /// The daemon is older than follow requests.
    #[error(
        "the daemon at {} follows no commands, as it is older than this exactop: \
         restart it, or run as root with --source own",
        path.display()
    )]
    FollowsNobody { path: PathBuf },
    /// The request is longer than a daemon reads.
    #[error(
        "the request has {bytes} bytes, and a daemon reads {most}: name fewer processes or calls"
    )]
    TooLong {
        /// Length of the request.
        bytes: usize,
        /// Longest request.
        most: usize,
    },
    /// The daemon closed the connection.
    #[error("the daemon at {} closed the connection, as it ended or this reader was too slow: connect again", .0.display())]
    Closed(PathBuf),
    /// A daemon accepted the connection but has not answered yet.
    #[error("the daemon at {} accepted the connection and has not answered yet: wait until it has started", .0.display())]
    Starting(PathBuf),
    /// The daemon closed the connection, and no daemon can be reached there now.
    #[error("the daemon at {} closed the connection and is not reachable ({why}): start it again", path.display())]
    Away {
        path: PathBuf,
        /// The last error.
        why: String,
    },
    /// The connection was opened before a fork: two processes would read from one stream.
    #[error("the connection to the daemon at {} belongs to process {opened_by}, which forked this one: open a new connection", path.display())]
    Forked {
        path: PathBuf,
        /// PID of the process that opened the connection.
        opened_by: u32,
    },
    /// The daemon does not answer.
    #[error("the daemon at {} has not answered for {seconds} s: restart it", path.display())]
    Silent {
        path: PathBuf,
        /// How long the reader waited, s.
        seconds: u64,
    },
    /// The daemon's bytes are not a valid stream.
    #[error("cannot read what the daemon at {} sends: {error}: restart it with the version of this exactop", path.display())]
    Stream { path: PathBuf, error: StreamError },
}

impl ServiceError {
    /// The error for a socket that cannot be connected to.
    pub(crate) fn unconnected(path: &std::path::Path, error: io::Error) -> ServiceError {
        match error.kind() {
            io::ErrorKind::PermissionDenied => {
                ServiceError::NotAllowed { path: path.into(), error }
            }
            _ => ServiceError::Nobody { path: path.into(), error },
        }
    }
}
