//! The queue of jobs and its workers.

use super::{Totals, Wake};
use crate::children;
use crate::error::Refusal;
use std::collections::VecDeque;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

/// Stack of a worker, bytes: thousands of workers must take little memory.
const STACK_BYTES: usize = 64 * 1024;

/// The workers and their shared state.
#[derive(Debug)]
pub(super) struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    wake: Wake,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    more: Condvar,
    accepted: AtomicU64,
    served: AtomicU64,
    wakeups: AtomicU64,
    futile: AtomicU64,
}

#[derive(Debug, Default)]
struct Queue {
    jobs: VecDeque<TcpStream>,
    over: bool,
}

impl Pool {
    pub(super) fn start(threads: usize, wake: Wake) -> Result<Pool, Refusal> {
        let mut pool = Pool { shared: Arc::default(), workers: Vec::new(), wake };
        for made in 0..threads {
            let shared = Arc::clone(&pool.shared);
            let worker = Builder::new().stack_size(STACK_BYTES).spawn(move || shared.work());
            pool.workers.push(worker.map_err(|e| children::too_few(made, threads, &e))?);
        }
        Ok(pool)
    }

    /// Queues a job and wakes one worker or all.
    pub(super) fn put(&self, job: TcpStream) {
        self.shared.accepted.fetch_add(1, Relaxed);
        self.shared.lock().jobs.push_back(job);
        match self.wake {
            Wake::All => self.shared.more.notify_all(),
            Wake::One => self.shared.more.notify_one(),
        }
    }

    /// Counts of the workers.
    pub(super) fn totals(&self) -> Totals {
        let shared = &self.shared;
        Totals {
            accepted: shared.accepted.load(Relaxed),
            served: shared.served.load(Relaxed),
            wakeups: shared.wakeups.load(Relaxed),
            futile: shared.futile.load(Relaxed),
            ..Totals::default()
        }
    }

    /// Ends the workers once the queue is empty. The wake-ups at the end are not counted.
    pub(super) fn end(&mut self) {
        self.shared.lock().over = true;
        self.shared.more.notify_all();
        for worker in self.workers.drain(..) {
            // Workers do not panic.
            let _ = worker.join();
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Main loop of a worker.
    fn work(&self) {
        let mut queue = self.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                drop(queue);
                drop(job);
                self.served.fetch_add(1, Relaxed);
                queue = self.lock();
            } else if queue.over {
                return;
            } else {
                queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
                if !queue.over {
                    self.wakeups.fetch_add(1, Relaxed);
                    self.futile.fetch_add(u64::from(queue.jobs.is_empty()), Relaxed);
                }
            }
        }
    }
}
