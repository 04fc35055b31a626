//! Processes that are stopped while they run.

use crate::{worker::Worker, Error};

/// Busy processes that are stopped and continued every few milliseconds, all at the same time.
#[derive(Debug)]
pub struct StopContinue {
    worker: Worker,
}

impl StopContinue {
    /// Starts as many processes.
    pub fn start(processes: usize) -> Result<Self, Error> {
        Ok(Self { worker: Worker::start("stop-continue", &[processes.to_string()])? })
    }

    /// The parent, which sends the signals.
    pub fn pid(&self) -> u32 {
        self.worker.pid()
    }

    /// The processes that are stopped and continued.
    pub fn pids(&self) -> Vec<u32> {
        self.worker.ids().collect()
    }

    /// How many stop signals were sent.
    pub fn stops(&self) -> Result<u64, Error> {
        let [stops] = self.worker.ask_for("stops")?;
        Ok(stops)
    }
}
