//! Processes whose CPU time no process collects: no wait(2) ever sees them.

use crate::{worker::Worker, Error};
use std::time::Duration;

workload! {
    /// A parent that ignores SIGCHLD. Every second child works and ends; the others leave an orphan
    /// that works.
    AutoReaped
}

/// Sums of the processes that have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AutoReapedTotals {
    /// Children, including those that only forked an orphan.
    pub children: u64,
    /// Number of orphans.
    pub orphans: u64,
    /// CPU time of both by CLOCK_PROCESS_CPUTIME_ID, ns. Each reads it at its end, before `_exit`,
    /// so the teardown is not included.
    pub cpu_ns: u64,
}

impl AutoReaped {
    /// Starts the load; `at_once` processes work at the same time, for `work` of CPU time each.
    pub fn start(at_once: usize, work: Duration) -> Result<Self, Error> {
        let args = [at_once.to_string(), work.as_micros().to_string()];
        Ok(Self { worker: Worker::start("auto-reaped", &args)? })
    }

    /// Totals so far.
    pub fn totals(&self) -> Result<AutoReapedTotals, Error> {
        self.ask("totals")
    }

    /// Starts no more processes, waits until all have ended, and returns the final totals. Call it
    /// once. The parent stays, idle, until this is dropped.
    pub fn stop(&self) -> Result<AutoReapedTotals, Error> {
        self.ask("stop")
    }

    fn ask(&self, request: &str) -> Result<AutoReapedTotals, Error> {
        let [children, orphans, cpu_ns] = self.worker.ask_for(request)?;
        Ok(AutoReapedTotals { children, orphans, cpu_ns })
    }
}
