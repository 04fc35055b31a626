//! Keys of accounts, which survive the reuse of PIDs, and the identity of a task.

use crate::text::escape;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The id of an account inside one source. It stays the same while the kernel's task lives, also
/// over an exec that changes the tid. It is never reused while the source is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountId(pub u64);

/// A task by its numbers and its start time. The start time tells a reused PID from its
/// predecessor.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
pub struct TaskKey {
    /// Thread group id: what user space calls the PID.
    pub tgid: u32,
    /// Task id: what `ps -L` calls LWP. Equal to `tgid` for the leader.
    pub tid: u32,
    /// Start time since boot, ns (`task_struct.start_boottime`; field 22 of proc_pid_stat(5), which
    /// rounds it to ticks).
    pub start_ns: u64,
}

impl TaskKey {
    /// True if this task leads its thread group, so that its row can stand for the process.
    pub fn is_leader(&self) -> bool {
        self.tgid == self.tid
    }
}

/// A command name: up to 15 arbitrary bytes (`TASK_COMM_LEN` in include/linux/sched.h).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Comm(pub [u8; 16]);

impl Comm {
    /// Takes the bytes up to the first NUL, at most 15.
    pub fn new(bytes: &[u8]) -> Comm {
        let mut comm = [0; 16];
        let len = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len()).min(15);
        comm[..len].copy_from_slice(&bytes[..len]);
        Comm(comm)
    }

    /// The raw bytes without the padding.
    pub fn bytes(&self) -> &[u8] {
        let len = self.0.iter().position(|&b| b == 0).unwrap_or(self.0.len());
        &self.0[..len]
    }
}

impl fmt::Display for Comm {
    /// Escapes control characters and invalid UTF-8, so that a terminal can show the name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&escape::escape(self.bytes()))
    }
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", escape::escape(self.bytes()))
    }
}

/// Properties of a task other than its time, as of its last sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Ident {
    /// Parent process (tgid of `real_parent`).
    pub ppid: u32,
    /// Command name.
    pub comm: Comm,
    /// Effective user id.
    pub uid: u32,
    /// Session id (setsid(2)) in the source's PID namespace; `None`: the source does not report it.
    /// 0: the session started outside that namespace, or the task is a kernel thread.
    pub session: Option<u32>,
    /// Inode number of the task's cgroup directory (v2, else v1's cpu hierarchy), if known.
    pub cgroup_id: Option<u64>,
    /// Nice value, -20..19.
    pub nice: i32,
    /// Kernel priority as in `task_struct.prio`: 0..99 real time, 100..139 fair.
    pub prio: i32,
    /// Scheduling policy, `SCHED_*` of sched(7).
    pub policy: u32,
    /// True for a kernel thread: it has no user mode and no memory of its own.
    pub kthread: bool,
}

impl Ident {
    /// Priority as top's PR column shows it (`prio - 100`), `None` for real-time rows ("rt").
    pub fn pr(&self) -> Option<i32> {
        (self.prio >= 100).then(|| self.prio - 100)
    }
}

/// A process or one of its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TaskRef {
    /// Process; 0: the kernel itself (an interrupt or idle), or [`TaskRef::EARLIER`].
    pub tgid: u32,
    /// Thread; `None`: the whole process.
    pub tid: Option<u32>,
    /// Command name of the thread, or of the process.
    pub comm: Comm,
    /// Name of the process, which is its main thread's. Empty if unknown: daemons and recordings of
    /// an earlier version do not have it.
    #[serde(default)]
    pub process: Comm,
}

impl TaskRef {
    /// An interrupt. It runs in the context of the task that it interrupted and belongs to no task.
    pub const INTERRUPT: TaskRef = TaskRef::named(Comm(*b"interrupt\0\0\0\0\0\0\0"));
    /// The idle CPU, without a task to run.
    pub const IDLE: TaskRef = TaskRef::named(Comm(*b"idle\0\0\0\0\0\0\0\0\0\0\0\0"));

    /// Tasks that had the CPU so long ago that their names are not kept.
    pub const EARLIER: TaskRef = TaskRef::named(Comm(*b"earlier tasks\0\0\0"));

    /// A part of the kernel, or tasks without a name.
    const fn named(name: Comm) -> TaskRef {
        TaskRef { tgid: 0, tid: None, comm: name, process: name }
    }

    /// A thread with its own name and its process's name.
    pub const fn thread(tgid: u32, tid: u32, comm: Comm, process: Comm) -> TaskRef {
        TaskRef { tgid, tid: Some(tid), comm, process }
    }

    /// The whole process, with the process's name.
    pub fn process(self) -> TaskRef {
        let told = !self.process.bytes().is_empty();
        let comm = if told { self.process } else { self.comm };
        TaskRef { tid: None, comm, ..self }
    }
}

impl fmt::Display for TaskRef {
    /// `name/tid` for a thread, as in prstat; `name (pid)` for a process. Escaped for the terminal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.tid {
            _ if self.tgid == 0 => self.comm.to_string(),
            Some(tid) => format!("{}/{tid}", self.comm),
            None => format!("{} ({})", self.comm, self.tgid),
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comm_is_cut_at_nul_and_at_fifteen_bytes() {
        assert_eq!(Comm::new(b"sh\0junk").bytes(), b"sh");
        assert_eq!(Comm::new(b"0123456789abcdefgh").bytes(), b"0123456789abcde");
    }

    #[test]
    fn a_shown_comm_is_escaped() {
        assert_eq!(Comm::new(b"a\x1b[2Jb").to_string(), "a\\x1b[2Jb");
    }
}
