//! Short-lived processes without end: most of a busy machine's time is theirs, and no look at
//! the list of processes ever finds them.

use crate::{worker::Worker, Error};

workload! {
    /// Shells that run `true` in a loop.
    ForkStorm
}

impl ForkStorm {
    /// Starts as many shells.
    pub fn start(shells: usize) -> Result<Self, Error> {
        Ok(Self { worker: Worker::start("fork-storm", &[shells.to_string()])? })
    }
}
