//! What can be wrong with a file: what was found, and what to do about it.

use rustix::fs::{FileType, Stat};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A file is not used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "`path` and `error` are what their names say")]
pub enum FileError {
    /// The kernel refused.
    #[error("cannot {what} {}: {error}", path.display())]
    Io {
        /// Open, read, write, make.
        what: &'static str,
        path: PathBuf,
        error: io::Error,
    },
    /// It is something else than a file or a directory.
    #[error("{} is {found}: give {wanted}", path.display())]
    Kind {
        path: PathBuf,
        /// What it is.
        found: Kind,
        /// What it must be.
        wanted: &'static str,
    },
    /// It is longer than anything of its kind.
    #[error("{} is longer than {limit} bytes, which nothing of its kind is: give another", path.display())]
    TooLong {
        path: PathBuf,
        /// How long it may be.
        limit: u64,
    },
    /// It belongs to someone who could change it under our hands.
    #[error(
        "{} belongs to uid {owner}, not to uid {own}: give one of your own, or do it as its owner",
        path.display()
    )]
    Foreign {
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Who we are.
        own: u32,
    },
    /// Others can write to it.
    #[error(
        "others can write to {} (mode {mode:04o}): chmod go-w it, or give another",
        path.display()
    )]
    Writable {
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// A link that someone else made.
    #[error(
        "{} is a link that uid {owner} made: give the path that it stands for",
        path.display()
    )]
    Link {
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// It has another name, so that someone may have put it there.
    #[error("{} has {links} names (hard links): remove it, or give another", path.display())]
    Linked { path: PathBuf, links: u64 },
    /// Something is there already.
    #[error("{} is there already: give another, or remove it", path.display())]
    Exists { path: PathBuf },
}

impl FileError {
    /// The kernel refused to do something with a path.
    pub(crate) fn io(what: &'static str, path: &Path, error: impl Into<io::Error>) -> FileError {
        FileError::Io { what, path: path.into(), error: error.into() }
    }

    /// The same, said of what was wanted in the end.
    pub(crate) fn while_to(self, wanted: &'static str) -> FileError {
        match self {
            FileError::Io { path, error, .. } => FileError::Io { what: wanted, path, error },
            other => other,
        }
    }

    /// A kind that cannot be used.
    pub(crate) fn kind(path: &Path, stat: &Stat, wanted: &'static str) -> FileError {
        FileError::Kind { path: path.into(), found: Kind::of(stat), wanted }
    }

    /// Nothing is there.
    pub fn is_missing(&self) -> bool {
        matches!(self, FileError::Io { error, .. } if error.kind() == io::ErrorKind::NotFound)
    }
}

/// What is found under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A named pipe.
    Fifo,
    /// A terminal, /dev/zero and the like.
    CharacterDevice,
    /// A disk.
    BlockDevice,
    /// A socket.
    Socket,
    /// What this program does not know.
    Other,
}

impl Kind {
    pub(crate) fn of(stat: &Stat) -> Kind {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Link,
            FileType::Fifo => Kind::Fifo,
            FileType::CharacterDevice => Kind::CharacterDevice,
            FileType::BlockDevice => Kind::BlockDevice,
            FileType::Socket => Kind::Socket,
            _ => Kind::Other,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::File => "a regular file",
            Kind::Directory => "a directory",
            Kind::Link => "a symbolic link",
            Kind::Fifo => "a FIFO",
            Kind::CharacterDevice => "a character device",
            Kind::BlockDevice => "a block device",
            Kind::Socket => "a socket",
            Kind::Other => "of an unknown kind",
        })
    }
}
