//! Threads that change their number while they live.

use crate::{worker::Worker, Error};

workload! {
    /// Processes that exec themselves again and again from a thread that is not their leader, while
    /// their other threads end.
    ExecThreads
}

impl ExecThreads {
    /// Starts the processes.
    pub fn start(processes: usize) -> Result<Self, Error> {
        Ok(Self { worker: Worker::start("exec-threads", &[processes.to_string()])? })
    }

    /// Number of execs of all processes, including the first.
    pub fn execs(&self) -> Result<u64, Error> {
        let [execs] = self.worker.ask_for("execs")?;
        Ok(execs)
    }
}
