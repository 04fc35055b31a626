//! Processes that are stopped while they run.

use crate::{worker::Worker, Error};

workload! {
    /// Busy processes that are stopped and continued every few milliseconds, all at the same time.
    StopContinue
}

impl StopContinue {
    /// Starts the processes.
    pub fn start(processes: usize) -> Result<Self, Error> {
        Ok(Self { worker: Worker::start("stop-continue", &[processes.to_string()])? })
    }

    /// Number of sent stop signals.
    pub fn stops(&self) -> Result<u64, Error> {
        let [stops] = self.worker.ask_for("stops")?;
        Ok(stops)
    }
}
