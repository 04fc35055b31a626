//! The files of one row that stay open from one window to the next, and what need not be read again.
//!
//! A descriptor of a file in /proc stays with the task it was opened for, so once it is sure that
//! it is the row's, it stays the row's: no path is walked and no start time compared again.

use super::{open_at, read_record, why};
use crate::procfs::TaskStat;
use exactop_model::{Missing, Row};
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::{getrlimit, Resource};
use std::sync::OnceLock;

/// Descriptors that may stay open for all rows together: more rows than any screen has.
const MOST: usize = 512;

/// That, or a quarter of what this process may open if that is less.
fn most() -> usize {
    static FOUND: OnceLock<usize> = OnceLock::new();
    *FOUND.get_or_init(|| match getrlimit(Resource::Nofile).current {
        Some(limit) => usize::try_from(limit / 4).map_or(MOST, |quarter| quarter.min(MOST)),
        None => MOST,
    })
}

/// What is kept for a row.
#[derive(Default)]
pub(crate) struct OpenFiles {
    stat: Option<OwnedFd>,
    statm: Option<OwnedFd>,
    /// CPU time of the whole life when it was read, and what the source had counted by then.
    time_base: Option<(u64, u64)>,
}

impl OpenFiles {
    /// How many descriptors it holds.
    pub fn open(&self) -> usize {
        usize::from(self.stat.is_some()) + usize::from(self.statm.is_some())
    }

    /// The stat line, if its file is open. `Some(Err)`: the task is gone.
    pub fn stat(&self, buf: &mut Vec<u8>) -> Option<Result<TaskStat, Missing>> {
        let fd = self.stat.as_ref()?;
        let read = read_record(fd.as_fd(), buf).map_err(why);
        Some(read.and_then(|n| TaskStat::parse(&buf[..n]).ok_or(Missing::Source)))
    }

    /// The text of statm, opened below `dir` where it is not open.
    pub fn statm<'b>(
        &mut self,
        dir: Option<&OwnedFd>,
        keep: bool,
        buf: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], Missing> {
        if let (None, Some(dir)) = (&self.statm, dir) {
            self.statm = Some(open_at(dir.as_fd(), "statm").map_err(why)?);
        }
        let n = match &self.statm {
            Some(fd) => read_record(fd.as_fd(), buf).map_err(why)?,
            None => return Err(Missing::Vanished),
        };
        if !keep {
            self.statm = None;
        }
        Ok(&buf[..n])
    }

    /// Keeps the file of the stat line, which has been found to be the row's.
    pub fn keep_stat(&mut self, fd: OwnedFd) {
        self.stat = Some(fd);
    }

    /// Whether stat and statm can be read without opening anything.
    pub fn are_open(&self) -> bool {
        self.stat.is_some() && self.statm.is_some()
    }

    /// Takes the whole life's CPU time as read now.
    pub fn set_time_base(&mut self, row: &Row, time_ns: u64) {
        self.time_base = counted(row).map(|run_ns| (time_ns, run_ns));
    }

    /// The whole life's CPU time, from when it was last read and what was counted since. Only for
    /// a task without threads beside it: those that exit take their counts along.
    pub fn time_since_base(&self, row: &Row) -> Option<u64> {
        let (time_ns, then) = self.time_base?;
        Some(time_ns + counted(row)?.checked_sub(then)?)
    }
}

fn counted(row: &Row) -> Option<u64> {
    row.total.get(exactop_model::Counter::RunNs)
}

/// How many descriptors all rows hold.
#[derive(Default)]
pub(crate) struct Held(usize);

impl Held {
    /// Whether a row may keep its files open.
    pub fn has_room(&self) -> bool {
        self.0 + 2 <= most()
    }

    /// Counts a row's descriptors again after something was done with them.
    pub fn changed(&mut self, before: usize, after: usize) {
        self.0 = self.0 - before + after;
    }
}
