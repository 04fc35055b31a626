//! Threads that are always runnable and measure their own CPU time.

use crate::{worker::Worker, Error};

workload! {
    /// Busy threads in one process, nearly always in user mode.
    Spin
}

/// CPU time of a busy thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpinThread {
    /// TID.
    pub tid: u32,
    /// CPU time by CLOCK_THREAD_CPUTIME_ID, read at its end, ns.
    pub cpu_ns: u64,
}

impl Spin {
    /// Starts the threads, bound to a set of CPUs or to none.
    pub fn start(threads: usize, cpus: Option<&[usize]>) -> Result<Self, Error> {
        let numbers = std::iter::once(&threads).chain(cpus.unwrap_or_default());
        let args: Vec<String> = numbers.map(ToString::to_string).collect();
        Ok(Self { worker: Worker::start("spin", &args)? })
    }

    /// The busy threads. The process has one more thread, idle, which answers requests.
    pub fn threads(&self) -> Vec<u32> {
        self.worker.ids().collect()
    }

    /// CPU time so far of the thread at `index` of [`threads`](Self::threads), ns.
    pub fn cpu_ns(&self, index: usize) -> Result<u64, Error> {
        let [cpu_ns] = self.worker.ask_for(&format!("cpu {index}"))?;
        Ok(cpu_ns)
    }

    /// Ends the threads; returns the CPU time of each.
    pub fn stop(self) -> Result<Vec<SpinThread>, Error> {
        let used = self.worker.ask("stop")?;
        let threads = self.worker.ids().zip(used);
        Ok(threads.map(|(tid, cpu_ns)| SpinThread { tid, cpu_ns }).collect())
    }
}
