//! Files of a row that stay open from one window to the next, and figures that need no reading.
//!
//! A descriptor of a file in /proc stays with its task. Once it is known to belong to the row, it
//! stays the row's: no path lookup and no comparison of start times is needed again.

use super::{open_at, read_record, why};
use crate::procfs::TaskStat;
use exactop_model::{Missing, Row};
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::{getrlimit, Resource};
use std::sync::OnceLock;

/// Most descriptors that stay open for all rows together; no screen has as many rows.
const MOST: usize = 512;

/// The limit for this process: [`MOST`], or a quarter of its limit on open files if that is less.
fn most() -> usize {
    static FOUND: OnceLock<usize> = OnceLock::new();
    *FOUND.get_or_init(|| match getrlimit(Resource::Nofile).current {
        Some(limit) => usize::try_from(limit / 4).map_or(MOST, |quarter| quarter.min(MOST)),
        None => MOST,
    })
}

/// Open files and figures of one row.
#[derive(Default)]
pub(crate) struct OpenFiles {
    stat: Option<OwnedFd>,
    statm: Option<OwnedFd>,
    /// CPU time since birth at the last read, and the source's count at that time.
    time_base: Option<(u64, u64)>,
}

impl OpenFiles {
    /// Number of open descriptors.
    pub fn open(&self) -> usize {
        usize::from(self.stat.is_some()) + usize::from(self.statm.is_some())
    }

    /// The stat line, if its file is open. `Some(Err)`: the task has exited.
    pub fn stat(&self, buf: &mut Vec<u8>) -> Option<Result<TaskStat, Missing>> {
        let fd = self.stat.as_ref()?;
        let read = read_record(fd.as_fd(), buf).map_err(why);
        Some(read.and_then(|n| TaskStat::parse(&buf[..n]).ok_or(Missing::Source)))
    }

    /// The text of statm; opens it below `dir` if needed.
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

    /// Keeps the stat file open; the caller has checked that it belongs to the row.
    pub fn keep_stat(&mut self, fd: OwnedFd) {
        self.stat = Some(fd);
    }

    /// True if stat and statm are open.
    pub fn are_open(&self) -> bool {
        self.stat.is_some() && self.statm.is_some()
    }

    /// Notes the CPU time since birth that was just read.
    pub fn set_time_base(&mut self, row: &Row, time_ns: u64) {
        self.time_base = counted(row).map(|run_ns| (time_ns, run_ns));
    }

    /// CPU time since birth, from the last read and the source's count since. Only for a task
    /// without other threads, because exited threads take their counts along.
    pub fn time_since_base(&self, row: &Row) -> Option<u64> {
        let (time_ns, then) = self.time_base?;
        Some(time_ns + counted(row)?.checked_sub(then)?)
    }
}

fn counted(row: &Row) -> Option<u64> {
    row.total.get(exactop_model::Counter::RunNs)
}

/// Number of open descriptors of all rows.
#[derive(Default)]
pub(crate) struct DescriptorCount(usize);

impl DescriptorCount {
    /// True if a row may keep its files open.
    pub fn has_room(&self) -> bool {
        self.0 + 2 <= most()
    }

    /// Updates the number after a row's files changed.
    pub fn changed(&mut self, before: usize, after: usize) {
        self.0 = self.0 - before + after;
    }
}
