//! Environment and open files of a process, read from /proc with ptrace rights (ptrace(2), "Ptrace
//! access mode checking").
//!
//! The reader opens the process's directory first and reads everything below that descriptor, which
//! stays with its process. The caller compares the start time ([`Process::start_ticks`]) before it
//! reads on, to be sure of the process.
//!
//! The process can block a read without limit: it may serve the file system of its own memory or of
//! the path of one of its files. So only code that can afford to wait may use this.

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

/// A process, identified by its open directory.
pub struct Process {
    dir: OwnedFd,
}

impl Process {
    /// Opens the process that has this number now; `root` is `/proc` outside of tests.
    ///
    /// # Errors
    /// No process has the number, or the user may not look into it.
    pub fn open(root: &Path, tgid: u32) -> Result<Process, Refusal> {
        let dir = open_dir(CWD, root.join(tgid.to_string())).map_err(why)?;
        Ok(Process { dir })
    }

    /// Start time, ticks since boot.
    ///
    /// # Errors
    /// The process has exited.
    pub fn start_ticks(&self) -> Result<u64, Refusal> {
        self.ticks_in("stat")
    }

    /// Start time of a thread, ticks since boot.
    ///
    /// # Errors
    /// The thread has exited.
    pub fn thread_start_ticks(&self, tid: u32) -> Result<u64, Refusal> {
        self.ticks_in(&format!("task/{tid}/stat"))
    }

    fn ticks_in(&self, stat: &str) -> Result<u64, Refusal> {
        let fd = open_at(self.dir.as_fd(), stat).map_err(why)?;
        let mut line = Vec::new();
        let n = read_record(fd.as_fd(), &mut line).map_err(why)?;
        let stat = TaskStat::parse(&line[..n]);
        stat.map(|stat| stat.start_ticks)
            .ok_or_else(|| Refusal::Because("its stat file differs from proc(5)".into()))
    }

    /// Reads the environment or the open files.
    ///
    /// # Errors
    /// The process has exited, or the user may not look into it.
    pub fn read(&self, part: Part) -> Result<Holdings, Refusal> {
        match part {
            Part::Environment => environment::read(&self.dir).map(Holdings::Environment),
            Part::Files => files::read(&self.dir).map(Holdings::Files),
        }
    }

    /// Bytes read from disks and given to disks to write, of the process with its exited threads or
    /// of one thread, since its birth.
    ///
    /// # Errors
    /// The process has exited, the user may not look into it, or this kernel does not count disk
    /// I/O.
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
