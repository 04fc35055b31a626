//! What a process holds, of which only who may look into it is told: its environment and its open
//! files.

use crate::TaskKey;
use serde::{Deserialize, Serialize};

/// Which of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    /// What it was started with, as `NAME=value`.
    Environment,
    /// Its descriptors, and what they are of.
    Files,
}

/// What somebody wants to know: of whom, by a key that no later process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// A task of the process: its leader, or another where that one was never seen.
    pub key: TaskKey,
    /// What of it.
    pub part: Part,
}

/// What it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // The parts say it.
pub enum Holdings {
    Environment(Environment),
    Files(Files),
}

/// The environment that a process was started with; a program may have written over its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// `NAME=value`, as the kernel has them, in the order of their bytes.
    pub variables: Vec<Vec<u8>>,
    /// There is more than is read of anyone.
    pub is_cut: bool,
}

/// The open files of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    /// By number.
    pub files: Vec<File>,
    /// How many more there are.
    pub left_out: u64,
}

/// An open file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Its descriptor.
    pub number: u32,
    /// What it is.
    pub kind: Kind,
    /// Where it lies, or what the kernel calls it (`socket:[4711]`).
    pub name: Vec<u8>,
    /// Its size, of a regular file.
    pub size: Option<u64>,
    /// Where it is read or written next.
    pub position: Option<u64>,
    /// How it was opened, as open(2) has its flags.
    pub flags: Option<u32>,
}

/// What an open file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // Their names say it.
pub enum Kind {
    Regular,
    Directory,
    CharacterDevice,
    BlockDevice,
    Pipe,
    Socket,
    Link,
    /// Something of the kernel's that lies nowhere: an epoll, an eventfd, a BPF map.
    Anonymous,
    /// It was not told.
    Unknown,
}

/// What somebody wants to know of its disk I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskOf {
    /// A task of the process, as above; or the thread itself.
    pub key: TaskKey,
    /// Only of that thread.
    pub is_thread: bool,
}

/// What has been read from disks and given them to write, in a life so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // Their names say it.
pub struct DiskBytes {
    pub read: u64,
    pub written: u64,
}

/// Why it is not told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// The process is there no more, whoever has its number now.
    Exited,
    /// The kernel lets who asks not look into it.
    NotPermitted,
    /// In its own words.
    Because(String),
}
