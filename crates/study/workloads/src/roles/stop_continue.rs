//! Busy processes that are stopped and continued all the time.

use super::{desk, number};
use crate::error::Refusal;
use crate::{children, work};
use rustix::process::{kill_process, Pid, Signal};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Length of a running or stopped phase.
const PHASE: Duration = Duration::from_millis(3);

pub(super) fn run(args: &[String]) -> Result<Infallible, Refusal> {
    let pids = children::make(number(args, 0)?, || {
        children::fork(|| loop {
            work::chunk();
        })
    })?;
    let stops = Arc::new(AtomicU64::new(0));
    let (targets, count) = (pids.clone(), Arc::clone(&stops));
    thread::spawn(move || control(&targets, &count));
    desk::serve(pids, |request| (request == "stops").then(|| vec![stops.load(Relaxed)]))
}

fn control(pids: &[u32], stops: &AtomicU64) {
    let pids: Vec<Pid> = pids.iter().filter_map(|pid| Pid::from_raw(*pid as i32)).collect();
    loop {
        for (signal, stopped) in [(Signal::STOP, 1), (Signal::CONT, 0)] {
            let sent = pids.iter().filter(|pid| kill_process(**pid, signal).is_ok()).count();
            stops.fetch_add(sent as u64 * stopped, Relaxed);
            thread::sleep(PHASE);
        }
    }
}
