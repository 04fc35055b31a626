//! Children and orphans that no process waits for, with known CPU time.
//!
//! Every second child forks an orphan and ends; the others work themselves. Each process adds its
//! own CPU clock to the shared sum at its end, so the sum lacks only the cost of exiting.

use super::{desk, number};
use crate::counters::Counters;
use crate::error::Refusal;
use crate::procs::group_members;
use crate::{children, work};
use rustix::time::ClockId;
use std::convert::Infallible;
use std::io::{self, PipeReader, PipeWriter};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Numbers of the counters.
const CHILDREN: usize = 0;
const ORPHANS: usize = 1;
const CPU_NS: usize = 2;

/// State shared by the forking thread and its children.
struct Load {
    counters: Counters,
    work: Duration,
    /// A byte in this pipe permits one more process.
    leaves: (PipeReader, PipeWriter),
    at_once: usize,
}

pub(super) fn run(args: &[String]) -> Result<Infallible, Refusal> {
    let (at_once, work_us) = (number(args, 0)?, number(args, 1)?);
    let load = prepare(at_once, Duration::from_micros(work_us as u64)).map_err(Refusal::other)?;
    // SAFETY: no handler is installed; the kernel shall reap the children.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    let counters = load.counters;
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let mut forker = Some(thread::spawn(move || load.run(&stopped)));
    desk::serve([], |request| {
        if request == "stop" {
            stop.store(true, Relaxed);
            forker.take().map(thread::JoinHandle::join)?.ok()?.ok()?;
        }
        let known = ["stop", "totals"].contains(&request);
        known.then(|| [CHILDREN, ORPHANS, CPU_NS].map(|n| counters.at(n).load(Relaxed)).into())
    })
}

fn prepare(at_once: usize, work: Duration) -> io::Result<Load> {
    let (counters, _) = Counters::new()?;
    let leaves = io::pipe()?;
    for _ in 0..at_once {
        rustix::io::write(&leaves.1, b"*")?;
    }
    Ok(Load { counters, work, leaves, at_once })
}

impl Load {
    /// Forks until told to stop; returns when all processes have ended.
    fn run(&self, stop: &AtomicBool) -> io::Result<()> {
        let mut orphan_next = false;
        while !stop.load(Relaxed) {
            self.take_leave()?;
            let forked = if orphan_next {
                children::fork(|| self.parent_of_orphan())
            } else {
                children::fork(|| self.work(CHILDREN))
            };
            if forked.is_err() {
                // No process could be created now: try again in the next turn.
                self.give_leave();
                thread::sleep(Duration::from_millis(1));
            }
            orphan_next = !orphan_next;
        }
        for _ in 0..self.at_once {
            self.take_leave()?;
        }
        while group_members(std::process::id()).len() > 1 {
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn take_leave(&self) -> io::Result<()> {
        rustix::io::retry_on_intr(|| rustix::io::read(&self.leaves.0, &mut [0]))?;
        Ok(())
    }

    fn give_leave(&self) {
        // The pipe is never full: it holds no more than at the start.
        let _ = rustix::io::write(&self.leaves.1, b"*");
    }

    /// In a child: works, and passes the permit on.
    fn work(&self, kind: usize) {
        work::until(ClockId::ProcessCPUTime, self.work);
        self.account(kind);
        self.give_leave();
    }

    /// In a child: forks an orphan and ends before it.
    fn parent_of_orphan(&self) {
        if children::fork_free(|| self.work(ORPHANS)).is_err() {
            self.give_leave();
        }
        self.account(CHILDREN);
    }

    fn account(&self, kind: usize) {
        self.counters.at(kind).fetch_add(1, Relaxed);
        self.counters.at(CPU_NS).fetch_add(work::nanoseconds(ClockId::ProcessCPUTime), Relaxed);
    }
}
