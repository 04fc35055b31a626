//! Threads that are always runnable, and whose CPU time their own clocks tell.

use crate::{worker::Worker, Error};

workload! {
    /// Busy threads in one process, in user mode nearly all of the time.
    Spin
}

/// What a busy thread used in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpinThread {
    /// Its number.
    pub tid: u32,
    /// Its CPU time by CLOCK_THREAD_CPUTIME_ID, read as its last act.
    pub cpu_ns: u64,
}

impl Spin {
    /// Starts as many threads, bound to a set of CPUs or to none.
    pub fn start(threads: usize, cpus: Option<&[usize]>) -> Result<Self, Error> {
        let numbers = std::iter::once(&threads).chain(cpus.unwrap_or_default());
        let args: Vec<String> = numbers.map(ToString::to_string).collect();
        Ok(Self { worker: Worker::start("spin", &args)? })
    }

    /// The busy threads. The process has one more, idle, which answers here.
    pub fn threads(&self) -> Vec<u32> {
        self.worker.ids().collect()
    }

    /// What CPU time the thread at `index` of [`threads`](Self::threads) has used so far.
    pub fn cpu_ns(&self, index: usize) -> Result<u64, Error> {
        let [cpu_ns] = self.worker.ask_for(&format!("cpu {index}"))?;
        Ok(cpu_ns)
    }

    /// Ends the threads, and says what each used.
    pub fn stop(self) -> Result<Vec<SpinThread>, Error> {
        let used = self.worker.ask("stop")?;
        let threads = self.worker.ids().zip(used);
        Ok(threads.map(|(tid, cpu_ns)| SpinThread { tid, cpu_ns }).collect())
    }
}
