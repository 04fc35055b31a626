//! Many threads that sleep and wake at a high rate, each for almost no time.

use crate::{worker::Worker, Error};

workload! {
    /// Pairs of threads; each pair passes one byte back and forth over pipes.
    PipePingPong
}

impl PipePingPong {
    /// Starts `threads` threads in one process, one more if the number is odd.
    ///
    /// Two threads need four open files. The limit is raised if that is allowed; else the error is
    /// [`TooFewFiles`](crate::error::Refusal::TooFewFiles).
    pub fn start(threads: usize) -> Result<Self, Error> {
        Ok(Self { worker: Worker::start("pipe-pingpong", &[threads.to_string()])? })
    }

    /// Round trips of all pairs together.
    pub fn rounds(&self) -> Result<u64, Error> {
        let [rounds] = self.worker.ask_for("rounds")?;
        Ok(rounds)
    }
}
