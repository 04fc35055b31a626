//! Many threads that sleep and wake at a high rate, each for almost no time.

use crate::{worker::Worker, Error};

workload! {
    /// Threads in pairs, each pair passing one byte to and fro over pipes.
    PipePingPong
}

impl PipePingPong {
    /// Starts as many threads, one more if the number is odd, all in one process.
    ///
    /// Two threads need four open files. The limit is raised where that is allowed; where it is
    /// not, the error is [`TooFewFiles`](crate::error::Refusal::TooFewFiles).
    pub fn start(threads: usize) -> Result<Self, Error> {
        Ok(Self { worker: Worker::start("pipe-pingpong", &[threads.to_string()])? })
    }

    /// How many times a byte has been there and back, all pairs together.
    pub fn rounds(&self) -> Result<u64, Error> {
        let [rounds] = self.worker.ask_for("rounds")?;
        Ok(rounds)
    }
}
