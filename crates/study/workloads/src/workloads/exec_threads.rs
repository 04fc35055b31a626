//! Threads that change their number while they live.

use crate::{worker::Worker, Error};

workload! {
    /// Processes that exec themselves, over and over, from a thread that is not their leader, while
    /// other threads of theirs end.
    ExecThreads
}

impl ExecThreads {
    /// Starts as many processes.
    pub fn start(processes: usize) -> Result<Self, Error> {
        Ok(Self { worker: Worker::start("exec-threads", &[processes.to_string()])? })
    }

    /// How many times they began anew, all together, the first time included.
    pub fn execs(&self) -> Result<u64, Error> {
        let [execs] = self.worker.ask_for("execs")?;
        Ok(execs)
    }
}
