//! The source that reads /proc: for every user, on every kernel, in every container.
//!
//! Time is counted in ticks (10 ms). A task that is born and exits between two reads is never seen:
//! CPU time without a visible task goes to the *unnamed* account. Each read costs system calls for
//! every existing task, so the ledger is the better source.
//!
//! What a row holds:
//! - a process: utime + stime of the whole thread group, exited threads included. Its run-queue
//!   wait and context switches are those of its **leader thread alone**, because /proc/PID has no
//!   sum of them. With `Needs::THREADS` each thread has its own row and its own figures;
//! - a process that `hidepid` (proc(5)) hides from this user has no row; its time is unnamed.

mod cpus;
pub(crate) mod files;
mod kernel_stat;
mod listing;
pub mod task_stat;
mod task_status;
mod tasks;
pub(crate) mod ticks;

#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
mod tests;

pub(crate) use kernel_stat::KernelStat;
pub(crate) use task_stat::TaskStat;

use crate::error::SourceError;
use crate::source::{Request, Source};
pub(crate) use cpus::CpuReader;
use exactop_model::{
    Counter, ErrorCounts, ErrorKind, Needs, Provenance, Quality, Snapshot, SourceKind, TaskSample,
};
use files::Budget;
use listing::Listing;
use std::path::{Path, PathBuf};
use tasks::{Look, NoRow, TaskPath, TaskTable};
use ticks::{ClockSample, Ticks};

/// The tasks with a sample. Figures of a process and of its threads do not continue each other, so
/// a task that changes between the two has none for one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowsOf {
    Processes,
    /// The threads of this process, and all other processes.
    ThreadsOf(u32),
    Threads,
}

impl RowsOf {
    /// If a process is watched, only its threads get rows; all other rows stay the same.
    fn next(self, needs: Needs, watch: Option<u32>) -> RowsOf {
        match (needs.has(Needs::THREADS), watch) {
            (false, _) => RowsOf::Processes,
            (true, None) => RowsOf::Threads,
            (true, Some(_)) if self == RowsOf::Threads => self,
            (true, Some(tgid)) => RowsOf::ThreadsOf(tgid),
        }
    }
}

/// The source that reads /proc.
pub struct Procfs {
    root: PathBuf,
    listing: Listing,
    tasks: TaskTable,
    cpus: CpuReader,
    ticks: Ticks,
    rows: RowsOf,
    errors: ErrorCounts,
    provenance: Provenance,
    pids: Vec<u32>,
    tids: Vec<u32>,
    path: Vec<u8>,
}

impl Procfs {
    /// Opens a /proc; `root` is `/proc` outside of tests. Raises this process's soft limit on open
    /// files to the hard limit.
    ///
    /// # Errors
    /// [`SourceError::Read`] if the directory or its `stat` cannot be opened (not mounted, or
    /// mounted with `subset=pid`).
    pub fn open(root: &Path) -> Result<Procfs, SourceError> {
        let listing = Listing::open(root)
            .map_err(|errno| SourceError::Read { path: root.into(), error: errno.into() })?;
        Ok(Procfs {
            root: root.into(),
            listing,
            tasks: TaskTable::new(Budget::of_this_process()),
            cpus: CpuReader::open(root)?,
            ticks: Ticks::of_this_system(),
            rows: RowsOf::Processes,
            errors: ErrorCounts::default(),
            provenance: provenance(),
            pids: Vec::new(),
            tids: Vec::new(),
            path: Vec::new(),
        })
    }

    /// Adds the reason for this source, in one line.
    pub fn because(mut self, reason: impl AsRef<str>) -> Procfs {
        self.provenance.because(reason.as_ref());
        self
    }

    fn read_tasks(
        &mut self,
        needs: Needs,
        watch: Option<u32>,
        now: ClockSample,
    ) -> Result<Vec<TaskSample>, SourceError> {
        let rows = self.rows.next(needs, watch);
        if (rows == RowsOf::Threads) != (self.rows == RowsOf::Threads) {
            self.tasks.clear();
        }
        self.rows = rows;
        self.listing
            .processes(&mut self.pids)
            .map_err(|errno| SourceError::Read { path: self.root.clone(), error: errno.into() })?;
        let mut samples = Vec::with_capacity(self.pids.len());
        self.tasks.begin();
        for at in 0..self.pids.len() {
            let tgid = self.pids[at];
            if rows == RowsOf::Threads || rows == RowsOf::ThreadsOf(tgid) {
                self.read_threads(tgid, needs, now, &mut samples);
            } else {
                self.read_task(TaskPath { tgid, tid: None }, needs, now, &mut samples);
            }
        }
        self.tasks.end();
        Ok(samples)
    }

    fn read_threads(
        &mut self,
        tgid: u32,
        needs: Needs,
        now: ClockSample,
        samples: &mut Vec<TaskSample>,
    ) {
        let dir = TaskPath { tgid, tid: None }.file(&mut self.path, "task");
        if let Err(errno) = self.listing.threads(dir, &mut self.tids) {
            return self.count(errno.into());
        }
        for at in 0..self.tids.len() {
            let tid = Some(self.tids[at]);
            self.read_task(TaskPath { tgid, tid }, needs, now, samples);
        }
    }

    fn read_task(
        &mut self,
        id: TaskPath,
        needs: Needs,
        now: ClockSample,
        into: &mut Vec<TaskSample>,
    ) {
        let look = Look { root: self.listing.root(), needs, now, ticks: self.ticks };
        match self.tasks.sample(id, &look) {
            Ok(sample) => into.push(sample),
            Err(no_row) => self.count(no_row),
        }
    }

    /// A task that has exited is no error; an unreadable one is.
    fn count(&mut self, no_row: NoRow) {
        if no_row == NoRow::Torn {
            self.errors.add(ErrorKind::Torn, 1);
        }
    }
}

impl Source for Procfs {
    /// The snapshot's instant is that of reading the CPUs; the tasks follow during the read. It
    /// never has `request.watch`, because /proc does not say which CPUs a process ran on.
    ///
    /// # Errors
    /// [`SourceError::Read`] and [`SourceError::Parse`], only for /proc itself and /proc/stat.
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        let (mut snapshot, now) = self.cpus.begin(&self.provenance, &mut self.errors)?;
        snapshot.tasks = self.read_tasks(request.needs, request.watch, now)?;
        snapshot.errors = self.errors;
        Ok(snapshot)
    }

    fn provenance(&self) -> &Provenance {
        &self.provenance
    }
}

/// All figures are sampled by ticks, or are those of the leader thread alone.
fn provenance() -> Provenance {
    let sampled = [Counter::Vcx, Counter::Icx, Counter::CutimeNs, Counter::CstimeNs];
    Provenance::by_ticks(SourceKind::Procfs).with(Quality::Sampled, &sampled)
}
