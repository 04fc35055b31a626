//! Processes that wake up and sleep again: a row in every window for next to no CPU time.

use crate::{worker::Worker, Error};
use std::time::Duration;

workload! {
    /// Processes that wake up after each pause.
    Tickers
}

impl Tickers {
    /// Starts the processes.
    pub fn start(processes: usize, pause: Duration) -> Result<Self, Error> {
        let args = [processes.to_string(), pause.as_millis().to_string()];
        Ok(Self { worker: Worker::start("tickers", &args)? })
    }
}
