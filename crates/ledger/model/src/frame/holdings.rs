//! A process's environment and open files. Reading them needs ptrace rights on the process.

use crate::TaskKey;
use serde::{Deserialize, Serialize};

/// The environment or the open files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    /// The environment at the program's start, as `NAME=value`.
    Environment,
    /// Open file descriptors and their files.
    Files,
}

/// A request for the holdings of a process. Its key is never reused by a later process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldingsRequest {
    /// A task of the process: its leader, or another task if the leader was never seen.
    pub key: TaskKey,
    /// The part to read.
    pub part: Part,
}

/// The environment or the open files of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // The parts say it.
pub enum Holdings {
    Environment(Environment),
    Files(Files),
}

/// The environment at the program's start. The program may have overwritten it since.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// `NAME=value`, as the kernel has them, sorted by their bytes.
    pub variables: Vec<Vec<u8>>,
    /// True if the environment is longer than the reader's limit.
    pub is_cut: bool,
}

/// The open files of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    /// The files, by descriptor number.
    pub files: Vec<File>,
    /// Number of files beyond the reader's limit.
    pub left_out: u64,
}

/// An open file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Descriptor number.
    pub number: u32,
    /// Type of the file.
    pub kind: OpenFileKind,
    /// Path, or the kernel's name for it (`socket:[4711]`).
    pub name: Vec<u8>,
    /// Size of a regular file, bytes.
    pub size: Option<u64>,
    /// Offset of the next read or write, bytes.
    pub position: Option<u64>,
    /// Open flags, as in open(2).
    pub flags: Option<u32>,
}

/// Type of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // Their names say it.
pub enum OpenFileKind {
    Regular,
    Directory,
    CharacterDevice,
    BlockDevice,
    Pipe,
    Socket,
    Link,
    /// An anonymous inode of the kernel: epoll, eventfd, a BPF map.
    Anonymous,
    /// The kernel did not give the type.
    Unknown,
}

/// A request for disk I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskOf {
    /// A task of the process, as in [`HoldingsRequest::key`]; or the thread itself.
    pub key: TaskKey,
    /// Only the thread, not its process.
    pub is_thread: bool,
}

/// Bytes read from disks and given to disks to write, since birth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // Their names say it.
pub struct DiskBytes {
    pub read: u64,
    pub written: u64,
}

/// Why holdings or disk I/O are missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// The process has exited; its number may belong to another process.
    Exited,
    /// The kernel does not permit this user to read them.
    NotPermitted,
    /// Another reason, in words.
    Because(String),
}
