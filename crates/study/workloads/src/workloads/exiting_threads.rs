//! Threads that exit between two windows, in a process that stays.

use crate::{worker::Worker, Error};

workload! {
    /// A process whose threads work for 1 to 5 ms and exit.
    ExitingThreads
}

/// Sums of the threads that have exited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitingThreadsTotals {
    /// Number of threads.
    pub threads: u64,
    /// CPU time by CLOCK_THREAD_CPUTIME_ID, ns. Each thread reads it at its end, so the kernel's
    /// later cost of the exit is not included.
    pub cpu_ns: u64,
}

impl ExitingThreads {
    /// Starts `lanes` lanes; each has one such thread at a time.
    pub fn start(lanes: usize) -> Result<Self, Error> {
        Ok(Self { worker: Worker::start("exiting-threads", &[lanes.to_string()])? })
    }

    /// Totals so far.
    pub fn totals(&self) -> Result<ExitingThreadsTotals, Error> {
        self.ask("totals")
    }

    /// Starts no more threads, waits for the running ones, and returns the final totals. The
    /// process stays, idle, until this is dropped.
    pub fn stop(&self) -> Result<ExitingThreadsTotals, Error> {
        self.ask("stop")
    }

    fn ask(&self, request: &str) -> Result<ExitingThreadsTotals, Error> {
        let [threads, cpu_ns] = self.worker.ask_for(request)?;
        Ok(ExitingThreadsTotals { threads, cpu_ns })
    }
}
