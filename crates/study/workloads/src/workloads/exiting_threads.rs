//! Threads that end between two looks, in a process that stays.

use crate::{worker::Worker, Error};

workload! {
    /// A process whose threads work for 1 to 5 ms and end.
    ExitingThreads
}

/// What the threads that have ended did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitingThreadsTotals {
    /// How many there were.
    pub threads: u64,
    /// Their CPU time by CLOCK_THREAD_CPUTIME_ID, read by each as its last act: what starting and
    /// ending a thread costs the kernel after that is not in it.
    pub cpu_ns: u64,
}

impl ExitingThreads {
    /// Starts as many lanes; each has one such thread at a time.
    pub fn start(lanes: usize) -> Result<Self, Error> {
        Ok(Self { worker: Worker::start("exiting-threads", &[lanes.to_string()])? })
    }

    /// The totals so far.
    pub fn totals(&self) -> Result<ExitingThreadsTotals, Error> {
        self.ask("totals")
    }

    /// Starts no more threads, waits for those that run, and gives the final totals. The process
    /// lives on, idle, until this is dropped.
    pub fn stop(&self) -> Result<ExitingThreadsTotals, Error> {
        self.ask("stop")
    }

    fn ask(&self, request: &str) -> Result<ExitingThreadsTotals, Error> {
        let [threads, cpu_ns] = self.worker.ask_for(request)?;
        Ok(ExitingThreadsTotals { threads, cpu_ns })
    }
}
