//! Threads that do nothing but use CPU time.

use crate::roles::work;
use rustix::time::ClockId;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// Busy threads.
pub struct Spin {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<u64>>,
}

impl Spin {
    /// Starts so many.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn start(threads: usize) -> io::Result<Spin> {
        let stop = Arc::new(AtomicBool::new(false));
        let start = |_| {
            let stop = stop.clone();
            Builder::new().spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    work::chunk();
                }
                work::nanoseconds(ClockId::ThreadCPUTime)
            })
        };
        let threads = (0..threads).map(start).collect::<io::Result<_>>()?;
        Ok(Spin { stop, threads })
    }

    /// Ends them; the CPU time each used, ns, by its own clock.
    pub fn stop(self) -> Vec<u64> {
        self.stop.store(true, Ordering::Relaxed);
        // A busy thread has nothing to panic about.
        self.threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    }
}
