//! Processes that exist and do nothing: what a tool pays for them, it pays for nothing.

use crate::{worker::Worker, Error};

workload! {
    /// Idle processes.
    Sleepers
}

impl Sleepers {
    /// Starts as many processes. Each takes some 100 KiB of the kernel's memory.
    pub fn start(processes: usize) -> Result<Self, Error> {
        Ok(Self { worker: Worker::start("sleepers", &[processes.to_string()])? })
    }
}
