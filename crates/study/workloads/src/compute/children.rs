//! Child processes that sleep, or that are short-lived.

use crate::children::{fork, too_few};
use crate::error::Refusal;
use rustix::process::{kill_process, waitpid, Pid, Signal, WaitOptions};
use std::io;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Sleeping processes; killed and reaped on drop. They die with the thread that started them.
pub struct Sleepers(Vec<u32>);

impl Sleepers {
    /// Starts `wanted` processes. The calling process must have one thread.
    ///
    /// # Errors
    /// How many could be started, and why not more.
    pub fn start(wanted: usize) -> Result<Sleepers, Refusal> {
        let mut sleepers = Sleepers(Vec::with_capacity(wanted));
        for _ in 0..wanted {
            let child = fork(|| loop {
                // SAFETY: takes no arguments and returns nothing.
                unsafe { libc::pause() };
            });
            match child {
                Ok(pid) => sleepers.0.push(pid),
                Err(error) => return Err(too_few(sleepers.0.len(), wanted, &error)),
            }
        }
        Ok(sleepers)
    }

    /// Number of processes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are no processes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        let pids = || self.0.iter().filter_map(|&pid| Pid::from_raw(pid as i32));
        for pid in pids() {
            let _ = kill_process(pid, Signal::KILL);
        }
        for pid in pids() {
            let _ = waitpid(Some(pid), WaitOptions::empty());
        }
    }
}

/// Lanes; each starts a child when the one before has ended.
pub struct Spawner {
    stop: Arc<AtomicBool>,
    children: Arc<AtomicU64>,
    failed: Arc<AtomicU64>,
    lanes: Vec<JoinHandle<()>>,
}

impl Spawner {
    /// Starts `lanes`; together they start at most `rate` children per second, if there is a rate.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(lanes: usize, rate: Option<f64>) -> io::Result<Spawner> {
        let (stop, children, failed) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
            Arc::new(AtomicU64::new(0)),
        );
        let pause = rate.map(|rate| Duration::from_secs_f64(lanes as f64 / rate));
        let lane = |_| {
            let (stop, children, failed) = (stop.clone(), children.clone(), failed.clone());
            std::thread::Builder::new().spawn(move || {
                let mut due = Instant::now();
                while !stop.load(Ordering::Relaxed) {
                    let count = if short_lived() { &children } else { &failed };
                    count.fetch_add(1, Ordering::Relaxed);
                    if let Some(pause) = pause {
                        due += pause;
                        std::thread::sleep(due.saturating_duration_since(Instant::now()));
                    }
                }
            })
        };
        let lanes = (0..lanes).map(lane).collect::<io::Result<_>>()?;
        Ok(Spawner { stop, children, failed, lanes })
    }

    /// Finished children, and failed starts.
    pub fn counts(&self) -> (u64, u64) {
        (self.children.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed))
    }

    /// Ends the lanes; returns the counts.
    pub fn stop(self) -> (u64, u64) {
        self.stop.store(true, Ordering::Relaxed);
        let (children, failed) = (self.children.clone(), self.failed.clone());
        for lane in self.lanes {
            let _ = lane.join();
        }
        (children.load(Ordering::Relaxed), failed.load(Ordering::Relaxed))
    }
}

fn short_lived() -> bool {
    let mut command = Command::new("/bin/true");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
