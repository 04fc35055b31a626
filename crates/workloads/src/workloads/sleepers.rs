//! Processes that exist and do nothing: what a tool pays for them, it pays for nothing.

use crate::{worker::Worker, Error};

/// Idle processes.
#[derive(Debug)]
pub struct Sleepers {
    worker: Worker,
}

impl Sleepers {
    /// Starts as many processes. Each takes some 100 KiB of the kernel's memory.
    pub fn start(processes: usize) -> Result<Self, Error> {
        Ok(Self { worker: Worker::start("sleepers", &[processes.to_string()])? })
    }

    /// The processes' parent.
    pub fn pid(&self) -> u32 {
        self.worker.pid()
    }

    /// The processes.
    pub fn pids(&self) -> Vec<u32> {
        self.worker.ids().collect()
    }
}
