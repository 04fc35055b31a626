//! A process or a thread as the views that are about pairs and calls name it.

use crate::key::Comm;
use std::fmt;

/// A process, or one of its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Who {
    /// Process; 0: the kernel itself (an interrupt, idle).
    pub tgid: u32,
    /// Thread; `None`: all of the process.
    pub tid: Option<u32>,
    /// Command name, of the thread if it is one.
    pub comm: Comm,
}

impl Who {
    /// An interrupt: it runs in the context of whoever it hit, and means nobody.
    pub const INTERRUPT: Who = Who { tgid: 0, tid: None, comm: Comm(*b"interrupt\0\0\0\0\0\0\0") };

    /// The whole process.
    pub fn process(self) -> Who {
        Who { tid: None, ..self }
    }
}

impl fmt::Display for Who {
    /// `name/tid` for a thread, as prstat has it, `name (pid)` for a process. Safe to put on a
    /// terminal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.tid {
            _ if self.tgid == 0 => self.comm.to_string(),
            Some(tid) => format!("{}/{tid}", self.comm),
            None => format!("{} ({})", self.comm, self.tgid),
        };
        f.pad(&text)
    }
}
