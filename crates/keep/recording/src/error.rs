//! Errors of recordings.

use exactop_files::FileError;
use rustix::io::Errno;
use std::io;
use std::path::PathBuf;

/// A recording cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // The names of the fields say it.
pub enum RecordingError {
    /// A file or a directory cannot be opened safely.
    #[error(transparent)]
    File(#[from] FileError),
    /// A system call failed.
    #[error("cannot {what} {}: {error}", path.display())]
    Io {
        /// The operation: read, write, list.
        what: &'static str,
        path: PathBuf,
        error: io::Error,
    },
    /// The file does not begin with the magic bytes of a recording.
    #[error("{} is not a recording of exactop (its first bytes are not EXACTOP): give another file", path.display())]
    NotARecording { path: PathBuf },
    /// The header cannot be read.
    #[error("the header of {} is damaged ({why}): remove the file", path.display())]
    Header {
        path: PathBuf,
        /// What is wrong with the header.
        why: String,
    },
    /// A later version wrote the file, in a format that is unknown here.
    #[error(
        "{} has format {found}, and this exactop reads up to {known}: use exactop {version} or later",
        path.display()
    )]
    Later {
        path: PathBuf,
        /// Format of the file.
        found: u32,
        /// Latest format known here.
        known: u32,
        /// Version of exactop that wrote the file.
        version: String,
    },
    /// Another process records into the directory.
    #[error("process {pid} records into {} already: stop it, or give another directory", path.display())]
    InUse {
        path: PathBuf,
        /// PID of that process, or `(unknown)`.
        pid: String,
    },
    /// The directory holds no recording.
    #[error("no recording in {}: give another directory, or record with 'exactop record'", path.display())]
    Empty { path: PathBuf },
}

impl RecordingError {
    pub(crate) fn io(
        what: &'static str,
        path: impl Into<PathBuf>,
        error: impl Into<io::Error>,
    ) -> RecordingError {
        RecordingError::Io { what, path: path.into(), error: error.into() }
    }

    /// True if the file does not exist (any more).
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, RecordingError::File(error) if error.is_missing())
    }

    /// True if the disk is full, which the recorder can cure by removing old files.
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

/// Why the bytes of a frame are invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The bytes end too early.
    #[error("it ends too early")]
    Short,
    /// A number is out of range.
    #[error("a number is out of range")]
    Number,
    /// A text number has no text.
    #[error("a text number is not defined")]
    Text,
    /// A required column is missing.
    #[error("a required figure is missing")]
    Missing,
    /// The frame exceeds a limit of recordings.
    #[error("it exceeds the limits of a window: 16 million figures of rows, or 64 MiB")]
    TooMuch,
    /// The payload cannot be compressed or decompressed.
    #[error("its compressed bytes are damaged")]
    Compression,
}
