//! A thundering herd in processes of its own.

use crate::herd::{Totals, Wake};
use crate::{worker::Worker, Error};

workload! {
    /// A server with many workers, and its client. The process is the server: its first thread accepts;
    /// beside the workers it has one that answers here.
    Herd
}

impl Herd {
    /// Starts a server with as many workers, and a client that tries to make `rate` connections
    /// per second.
    pub fn start(threads: usize, wake: Wake, rate: f64) -> Result<Self, Error> {
        let args = [threads.to_string(), wake.to_string(), rate.to_string()];
        Ok(Self { worker: Worker::start("herd", &args)? })
    }

    /// The totals so far.
    pub fn totals(&self) -> Result<Totals, Error> {
        let [accepted, served, wakeups, futile, connected, failed, cpu_ns] =
            self.worker.ask_for("totals")?;
        Ok(Totals { accepted, served, wakeups, futile, connected, failed, cpu_ns })
    }
}
