//! Threads that work for a few milliseconds and exit, one after the other.

use super::{desk, number};
use crate::error::Refusal;
use crate::{children, work};
use rustix::time::ClockId;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Shortest and longest work of a thread, ms; all lengths in turn.
const SHORTEST: u64 = 1;
const LONGEST: u64 = 5;

#[derive(Default)]
struct Totals {
    threads: AtomicU64,
    cpu_ns: AtomicU64,
    stop: AtomicBool,
}

pub(super) fn run(args: &[String]) -> Result<Infallible, Refusal> {
    let lanes = number(args, 0)?;
    let totals = Arc::new(Totals::default());
    let mut running = Vec::with_capacity(lanes);
    for made in 0..lanes {
        let totals = Arc::clone(&totals);
        let lane = thread::Builder::new().spawn(move || lane(made as u64, &totals));
        running.push(lane.map_err(|error| children::too_few(made, lanes, &error))?);
    }
    desk::serve([], |request| {
        if request == "stop" {
            totals.stop.store(true, Relaxed);
            running.drain(..).try_for_each(thread::JoinHandle::join).ok()?;
        }
        let known = ["stop", "totals"].contains(&request);
        known.then(|| vec![totals.threads.load(Relaxed), totals.cpu_ns.load(Relaxed)])
    })
}

/// Runs short threads one after the other.
fn lane(first: u64, totals: &Arc<Totals>) {
    let lengths = (SHORTEST..=LONGEST).cycle().skip((first % LONGEST) as usize);
    for length in lengths.map(Duration::from_millis) {
        if totals.stop.load(Relaxed) {
            return;
        }
        let totals = Arc::clone(totals);
        let short = thread::Builder::new().spawn(move || {
            work::until(ClockId::ThreadCPUTime, length);
            totals.threads.fetch_add(1, Relaxed);
            totals.cpu_ns.fetch_add(work::nanoseconds(ClockId::ThreadCPUTime), Relaxed);
        });
        // No thread could be created now: try again in the next turn.
        let _ = short.map(thread::JoinHandle::join);
    }
}
