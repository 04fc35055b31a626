//! Options of a recorder, and its notices.

use std::time::Duration;

/// When the recorder syncs written windows to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// After each window.
    Window,
    /// After this much time.
    Every(Duration),
    /// Never: the kernel decides.
    Never,
}

/// Options of a recorder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Remove windows older than this; `None` keeps all.
    pub keep: Option<Duration>,
    /// Most bytes of all files, the one being written included; `None` for no limit.
    pub max_bytes: Option<u64>,
    /// When to sync.
    pub sync: Sync,
    /// Start a new file after about this many bytes.
    pub file_bytes: u64,
    /// Start a new file after about this much time.
    pub file_time: Duration,
    /// Record command lines.
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

/// An event of the recorder that its user should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The previous writer left a partial frame; this many bytes were truncated.
    Cut(u64),
    /// Number and bytes of files that cannot be read. They count toward the limits and are removed
    /// when old.
    Unreadable(u64, u64),
    /// Names of files that do not belong to the recording. They are left alone and do not count.
    Foreign(Vec<String>),
    /// Bytes removed because of `max_bytes`: the directory holds less time than `keep`.
    Shortened(u64),
    /// Bytes removed because they are older than `keep`.
    TooOld(u64),
    /// Bytes of the oldest files removed because the disk is full.
    Full(u64),
    /// A window could not be written: the error.
    NotWritten(String),
    /// Writing works again.
    Again,
}
