//! Threads that only use CPU time.

use crate::work;
use rustix::time::ClockId;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::{sleep, Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Period of a thread that is busy for a part of the time.
pub const SLICE: Duration = Duration::from_millis(20);

/// Busy threads.
pub struct Spin {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<u64>>,
}

impl Spin {
    /// Starts `threads` threads, each busy for `part` of every [`SLICE`] by its own CPU clock; it
    /// sleeps for the rest. 1 is all the time.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(threads: usize, part: f64) -> io::Result<Spin> {
        let stop = Arc::new(AtomicBool::new(false));
        let start = |_| {
            let stop = stop.clone();
            Builder::new().spawn(move || {
                match part < 1.0 {
                    true => in_slices(part, &stop),
                    false => until(u64::MAX, &stop),
                }
                work::nanoseconds(ClockId::ThreadCPUTime)
            })
        };
        let threads = (0..threads).map(start).collect::<io::Result<_>>()?;
        Ok(Spin { stop, threads })
    }

    /// Ends the threads; returns the CPU time of each by its own clock, ns.
    pub fn stop(self) -> Vec<u64> {
        self.stop.store(true, Ordering::Relaxed);
        // Busy threads do not panic.
        self.threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    }
}

/// Works until the thread's CPU clock reaches this time.
fn until(cpu_ns: u64, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed)
        && (cpu_ns == u64::MAX || work::nanoseconds(ClockId::ThreadCPUTime) < cpu_ns)
    {
        work::chunk();
    }
}

/// Works and sleeps. Work that a slice had no time for is not repeated in the next: another task
/// used that time.
fn in_slices(part: f64, stop: &AtomicBool) {
    let work_ns = SLICE.mul_f64(part).as_nanos() as u64;
    while !stop.load(Ordering::Relaxed) {
        let next = Instant::now() + SLICE;
        until(work::nanoseconds(ClockId::ThreadCPUTime) + work_ns, stop);
        sleep(next.saturating_duration_since(Instant::now()));
    }
}
