//! What whoever records can ask for, and what they are told.

use std::time::Duration;

/// When what was written is on the disk for sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// After each window.
    Window,
    /// When so much time passed since.
    Every(Duration),
    /// When the kernel sees fit.
    Never,
}

/// What is kept, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// No longer than so much time.
    pub keep: Option<Duration>,
    /// No more than so many bytes, the file that is written included.
    pub max_bytes: Option<u64>,
    /// When it is on the disk for sure.
    pub sync: Sync,
    /// A file is no longer than so many bytes by much,
    pub file_bytes: u64,
    /// nor about more than so much time.
    pub file_time: Duration,
    /// Command lines are kept, too.
    pub command_lines: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            keep: None,
            max_bytes: None,
            sync: Sync::Window,
            file_bytes: 16 << 20,
            file_time: Duration::from_secs(3600),
            command_lines: true,
        }
    }
}

/// Something that whoever records should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The writer before left this many bytes of a frame that is not whole.
    Cut(u64),
    /// Files that cannot be read count, and go when their time comes: how many, and their bytes.
    Unreadable(u64, u64),
    /// What is none of ours is left alone and does not count: its names.
    Foreign(Vec<String>),
    /// The directory holds less time than asked for, because of its size: bytes that went.
    Shortened(u64),
    /// Windows that are older than asked for went: bytes.
    TooOld(u64),
    /// The disk is full: bytes of the oldest that went to make room.
    Full(u64),
    /// A window could not be written: why.
    NotWritten(String),
    /// It can be written again.
    Again,
}
