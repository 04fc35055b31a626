//! Errors of files: what failed, the value found, what to do.

use rustix::fs::{FileType, Stat};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a file is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "`path` and `error` are what their names say")]
pub enum FileError {
    /// The kernel's error.
    #[error("cannot {what} {}: {error}", path.display())]
    Io {
        /// The action: open, read, write, make.
        what: &'static str,
        path: PathBuf,
        error: io::Error,
    },
    /// The file has a wrong type.
    #[error("{} is {found}: give {wanted}", path.display())]
    Kind {
        path: PathBuf,
        /// Type of the file.
        found: FileKind,
        /// Expected type.
        wanted: &'static str,
    },
    /// The file is longer than any valid one.
    #[error("{} is longer than {limit} bytes, the limit for such a file: give another file", path.display())]
    TooLong {
        path: PathBuf,
        /// Longest valid length, bytes.
        limit: u64,
    },
    /// The file belongs to another user, who could change it at any time.
    #[error(
        "{} belongs to uid {owner}, not to uid {own}: give a file of your own, or run as its owner",
        path.display()
    )]
    Foreign {
        path: PathBuf,
        /// Owner of the file.
        owner: u32,
        /// This user.
        own: u32,
    },
    /// Other users can write to the file.
    #[error(
        "others can write to {} (mode {mode:04o}): run chmod go-w on it, or give another",
        path.display()
    )]
    Writable {
        path: PathBuf,
        /// Permissions of the file.
        mode: u32,
    },
    /// The path is a link of another user.
    #[error(
        "{} is a link made by uid {owner}: give the path that it points to",
        path.display()
    )]
    Link {
        path: PathBuf,
        /// Owner of the link.
        owner: u32,
    },
    /// The file has another name, so another user may have put it there.
    #[error("{} has {links} names (hard links): remove it, or give another file", path.display())]
    Linked { path: PathBuf, links: u64 },
    /// The file exists already.
    #[error("{} exists already: remove it, or give another path", path.display())]
    Exists { path: PathBuf },
}

impl FileError {
    /// An error of the kernel for an action on a path.
    pub(crate) fn io(what: &'static str, path: &Path, error: impl Into<io::Error>) -> FileError {
        FileError::Io { what, path: path.into(), error: error.into() }
    }

    /// The same error for the caller's action `wanted`.
    pub(crate) fn while_to(self, wanted: &'static str) -> FileError {
        match self {
            FileError::Io { path, error, .. } => FileError::Io { what: wanted, path, error },
            other => other,
        }
    }

    /// An error for a wrong type.
    pub(crate) fn kind(path: &Path, stat: &Stat, wanted: &'static str) -> FileError {
        FileError::Kind { path: path.into(), found: FileKind::from_stat(stat), wanted }
    }

    /// True if the file does not exist. A path below a file has none, as with HOME=/dev/null.
    pub fn is_missing(&self) -> bool {
        let missing = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
        matches!(self, FileError::Io { error, .. } if missing.contains(&error.kind()))
    }
}

/// Type of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A named pipe.
    Fifo,
    /// A character device, such as a terminal or /dev/zero.
    CharacterDevice,
    /// A block device, such as a disk.
    BlockDevice,
    /// A socket.
    Socket,
    /// Another type.
    Other,
}

impl FileKind {
    pub(crate) fn from_stat(stat: &Stat) -> FileKind {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => FileKind::File,
            FileType::Directory => FileKind::Directory,
            FileType::Symlink => FileKind::Link,
            FileType::Fifo => FileKind::Fifo,
            FileType::CharacterDevice => FileKind::CharacterDevice,
            FileType::BlockDevice => FileKind::BlockDevice,
            FileType::Socket => FileKind::Socket,
            _ => FileKind::Other,
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileKind::File => "a regular file",
            FileKind::Directory => "a directory",
            FileKind::Link => "a symbolic link",
            FileKind::Fifo => "a FIFO",
            FileKind::CharacterDevice => "a character device",
            FileKind::BlockDevice => "a block device",
            FileKind::Socket => "a socket",
            FileKind::Other => "of an unknown kind",
        })
    }
}
