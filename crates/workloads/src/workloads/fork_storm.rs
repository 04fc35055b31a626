//! Short-lived processes without end: most of a busy machine's time is theirs, and no look at
//! the list of processes ever finds them.

use crate::{worker::Worker, Error};

/// Shells that run `true` in a loop.
#[derive(Debug)]
pub struct ForkStorm {
    worker: Worker,
}

impl ForkStorm {
    /// Starts as many shells.
    pub fn start(shells: usize) -> Result<Self, Error> {
        Ok(Self { worker: Worker::start("fork-storm", &[shells.to_string()])? })
    }

    /// The shells' parent.
    pub fn pid(&self) -> u32 {
        self.worker.pid()
    }

    /// The shells.
    pub fn shells(&self) -> Vec<u32> {
        self.worker.ids().collect()
    }
}
