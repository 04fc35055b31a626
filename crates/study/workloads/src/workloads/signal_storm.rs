//! Sleeps that signals interrupt, some before they began.

use crate::{worker::Worker, Error};

workload! {
    /// Threads in a ring; each signals the next one and sleeps, in nanosleep and in futex in turn.
    SignalStorm
}

/// Counts of signals; each count is at most the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignalCounts {
    /// Sent signals.
    pub sent: u64,
    /// Delivered signals: fewer, because a pending signal is not queued again.
    pub delivered: u64,
    /// Interrupted sleeps.
    pub interrupted: u64,
}

impl SignalStorm {
    /// Starts the threads in one process.
    pub fn start(threads: usize) -> Result<Self, Error> {
        Ok(Self { worker: Worker::start("signal-storm", &[threads.to_string()])? })
    }

    /// Counts so far.
    pub fn counts(&self) -> Result<SignalCounts, Error> {
        let [sent, delivered, interrupted] = self.worker.ask_for("counts")?;
        Ok(SignalCounts { sent, delivered, interrupted })
    }
}
