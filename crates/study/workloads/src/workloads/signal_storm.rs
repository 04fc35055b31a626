//! Sleeps that signals cut short, some before they began.

use crate::{worker::Worker, Error};

workload! {
    /// Threads in a ring; each signals the next one and sleeps, in nanosleep and in futex by turns.
    SignalStorm
}

/// How many signals did what: each count is at most the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignalCounts {
    /// Sent.
    pub sent: u64,
    /// Delivered: fewer, because a signal that is pending is not queued again.
    pub delivered: u64,
    /// Sleeps that were cut short.
    pub interrupted: u64,
}

impl SignalStorm {
    /// Starts as many threads, all in one process.
    pub fn start(threads: usize) -> Result<Self, Error> {
        Ok(Self { worker: Worker::start("signal-storm", &[threads.to_string()])? })
    }

    /// The counts so far.
    pub fn counts(&self) -> Result<SignalCounts, Error> {
        let [sent, delivered, interrupted] = self.worker.ask_for("counts")?;
        Ok(SignalCounts { sent, delivered, interrupted })
    }
}
