//! Processes whose CPU time nobody collects: no wait(2) ever sees them.

use crate::{worker::Worker, Error};
use std::time::Duration;

workload! {
    /// A parent that ignores SIGCHLD. Every second child of its works and ends; the others leave an
    /// orphan behind, which does.
    AutoReaped
}

/// What the processes that have ended did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AutoReapedTotals {
    /// Children, with those that only made an orphan.
    pub children: u64,
    /// Orphans.
    pub orphans: u64,
    /// CPU time of both by CLOCK_PROCESS_CPUTIME_ID, read by each as its last act before
    /// `_exit`: the teardown is not in it.
    pub cpu_ns: u64,
}

impl AutoReaped {
    /// Starts; `at_once` processes work at the same time, for `work` of CPU time each.
    pub fn start(at_once: usize, work: Duration) -> Result<Self, Error> {
        let args = [at_once.to_string(), work.as_micros().to_string()];
        Ok(Self { worker: Worker::start("auto-reaped", &args)? })
    }

    /// The totals so far.
    pub fn totals(&self) -> Result<AutoReapedTotals, Error> {
        self.ask("totals")
    }

    /// Starts no more processes, waits until all are gone, and gives the final totals. To be
    /// called once. The parent lives on, idle, until this is dropped.
    pub fn stop(&self) -> Result<AutoReapedTotals, Error> {
        self.ask("stop")
    }

    fn ask(&self, request: &str) -> Result<AutoReapedTotals, Error> {
        let [children, orphans, cpu_ns] = self.worker.ask_for(request)?;
        Ok(AutoReapedTotals { children, orphans, cpu_ns })
    }
}
