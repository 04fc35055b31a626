//! What can be wrong with a recording.

use exactop_files::FileError;
use rustix::io::Errno;
use std::io;
use std::path::PathBuf;

/// A recording cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// A file or a directory.
    #[error(transparent)]
    File(#[from] FileError),
    /// The kernel refused.
    #[error("cannot {what} {}: {error}", path.display())]
    Io {
        /// Read, write, list.
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It does not begin as one.
    #[error("{} is no recording of exactop: its first bytes are others", path.display())]
    NotARecording {
        /// Which.
        path: PathBuf,
    },
    /// Its header cannot be read.
    #[error("the header of {} is damaged: {why}", path.display())]
    Header {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// It was written by a later version.
    #[error(
        "{} has format {found}, and this exactop reads up to {known}: use exactop {version} or later",
        path.display()
    )]
    Later {
        /// Which.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The last format that is known here.
        known: u32,
        /// Who wrote it.
        version: String,
    },
    /// Someone writes there already.
    #[error("process {pid} records into {} already: stop it, or give another directory", path.display())]
    Held {
        /// Which.
        path: PathBuf,
        /// Who.
        pid: String,
    },
    /// There is nothing in it.
    #[error("there is no recording in {}", path.display())]
    Empty {
        /// Which.
        path: PathBuf,
    },
}

impl RecordingError {
    pub(crate) fn io(
        what: &'static str,
        path: impl Into<PathBuf>,
        error: impl Into<io::Error>,
    ) -> RecordingError {
        RecordingError::Io { what, path: path.into(), error: error.into() }
    }

    /// Whether there is no such file (any more).
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, RecordingError::File(error) if error.is_missing())
    }

    /// Whether there is only no room, which can be made.
    pub(crate) fn is_full(&self) -> bool {
        let (RecordingError::Io { error, .. } | RecordingError::File(FileError::Io { error, .. })) =
            self
        else {
            return false;
        };
        let full = [Errno::NOSPC, Errno::DQUOT].map(|errno| Some(errno.raw_os_error()));
        full.contains(&error.raw_os_error())
    }
}

/// What is wrong with the bytes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Bad {
    /// They end too early.
    #[error("it ends too early")]
    Short,
    /// A number that cannot be.
    #[error("a number that cannot be")]
    Number,
    /// A text that was not told before.
    #[error("a text that was not told")]
    Text,
    /// A column that every row has is not there.
    #[error("a figure that every row has is missing")]
    Missing,
    /// More than a recording may hold.
    #[error("more than a recording may hold: 16 million figures of rows or 64 MiB in a window")]
    TooMuch,
    /// It cannot be decompressed.
    #[error("it cannot be decompressed")]
    Compression,
}
