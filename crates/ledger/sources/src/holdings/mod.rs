//! What a process holds: its environment and its open files, as /proc tells who may look into it
//! (ptrace(2), "Ptrace access mode checking").
//!
//! The process's directory is opened first and everything is read below that descriptor, which stays
//! with the process it was opened for. Whether that is the one which is meant, its start time tells:
//! whoever asks compares it ([`Process::start_ticks`]) before reading on.
//!
//! A read may take as long as the process likes: its memory, or a path of its files, may lie on a file
//! system that it answers for itself. So this is for somebody who can be left waiting.

mod disk;
mod environment;
mod files;
#[cfg(test)]
mod tests;

use crate::procfs::files::{open_at, open_dir, read_record};
use crate::procfs::TaskStat;
use exactop_model::frame::holdings::{DiskBytes, Holdings, Part, Refusal};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::CWD;
use rustix::io::Errno;
use std::path::Path;

/// A process, held fast by its directory.
pub struct Process {
    dir: OwnedFd,
}

impl Process {
    /// The one that has a number now; `root` is `/proc` outside of tests.
    ///
    /// # Errors
    /// Nobody has it, or it may not be looked at.
    pub fn open(root: &Path, tgid: u32) -> Result<Process, Refusal> {
        let dir = open_dir(CWD, root.join(tgid.to_string())).map_err(why)?;
        Ok(Process { dir })
    }

    /// When it started, in ticks since boot.
    ///
    /// # Errors
    /// It has exited.
    pub fn start_ticks(&self) -> Result<u64, Refusal> {
        self.ticks_in("stat")
    }

    /// When a thread of it started.
    ///
    /// # Errors
    /// It has exited.
    pub fn thread_start_ticks(&self, tid: u32) -> Result<u64, Refusal> {
        self.ticks_in(&format!("task/{tid}/stat"))
    }

    fn ticks_in(&self, stat: &str) -> Result<u64, Refusal> {
        let fd = open_at(self.dir.as_fd(), stat).map_err(why)?;
        let mut line = Vec::new();
        let n = read_record(fd.as_fd(), &mut line).map_err(why)?;
        let stat = TaskStat::parse(&line[..n]);
        stat.map(|stat| stat.start_ticks)
            .ok_or_else(|| Refusal::Because("its stat is not as proc(5) has it".into()))
    }

    /// What it holds.
    ///
    /// # Errors
    /// It has exited, or who asks may not look into it.
    pub fn read(&self, part: Part) -> Result<Holdings, Refusal> {
        match part {
            Part::Environment => environment::read(&self.dir).map(Holdings::Environment),
            Part::Files => files::read(&self.dir).map(Holdings::Files),
        }
    }

    /// What it, or a thread of it, has had read from disks and given them to write since it began, with
    /// those of its threads that have exited.
    ///
    /// # Errors
    /// It has exited, who asks may not look into it, or this kernel does not count it.
    pub fn disk(&self, thread: Option<u32>) -> Result<DiskBytes, Refusal> {
        disk::read(&self.dir, thread)
    }
}

fn why(errno: Errno) -> Refusal {
    match errno {
        Errno::ACCESS | Errno::PERM => Refusal::NotPermitted,
        Errno::NOENT | Errno::SRCH => Refusal::Exited,
        errno => Refusal::Because(errno.to_string()),
    }
}
