//! Idle processes, to measure what a tool pays for them.

use crate::{worker::Worker, Error};

workload! {
    /// Idle processes.
    Sleepers
}

impl Sleepers {
    /// Starts the processes. Each takes some 100 KiB of the kernel's memory.
    pub fn start(processes: usize) -> Result<Self, Error> {
        Ok(Self { worker: Worker::start("sleepers", &[processes.to_string()])? })
    }
}
