//! A thundering herd in separate processes.

use crate::herd::{Totals, Wake};
use crate::{worker::Worker, Error};

workload! {
    /// A server with many workers, and its client. The first process is the server: its first
    /// thread accepts, another one answers requests.
    Herd
}

impl Herd {
    /// Starts a server with `threads` workers, and a client that tries to open `rate` connections
    /// per second.
    pub fn start(threads: usize, wake: Wake, rate: f64) -> Result<Self, Error> {
        let args = [threads.to_string(), wake.to_string(), rate.to_string()];
        Ok(Self { worker: Worker::start("herd", &args)? })
    }

    /// Totals so far.
    pub fn totals(&self) -> Result<Totals, Error> {
        let [accepted, served, wakeups, futile, connected, failed, cpu_ns] =
            self.worker.ask_for("totals")?;
        Ok(Totals { accepted, served, wakeups, futile, connected, failed, cpu_ns })
    }
}
