//! Endless short-lived processes: they use most of a busy machine's time, and no read of the
//! process list finds them.

use crate::{worker::Worker, Error};

workload! {
    /// Shells that run `true` in a loop.
    ForkStorm
}

impl ForkStorm {
    /// Starts the shells.
    pub fn start(shells: usize) -> Result<Self, Error> {
        Ok(Self { worker: Worker::start("fork-storm", &[shells.to_string()])? })
    }
}
