//! Busy threads that know their CPU time.

use super::{desk, number};
use crate::error::Refusal;
use crate::{children, work};
use rustix::thread::{gettid, sched_setaffinity, CpuSet};
use rustix::time::ClockId;
use std::convert::Infallible;
use std::mem::MaybeUninit;
use std::os::unix::thread::JoinHandleExt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{mpsc, Arc};
use std::thread::{self, JoinHandle};

/// A busy thread. It returns its CPU time, read at its end.
type Spinner = JoinHandle<u64>;

pub(super) fn run(args: &[String]) -> Result<Infallible, Refusal> {
    let threads = number(args, 0)?;
    let cpus = (1..args.len()).map(|at| number(args, at)).collect::<Result<Vec<_>, _>>()?;
    confine(&cpus)?;
    let stop = Arc::new(AtomicBool::new(false));
    let mut spinners: Vec<Spinner> = Vec::with_capacity(threads);
    let mut tids = Vec::with_capacity(threads);
    for made in 0..threads {
        let (spinner, tid) = start(&stop).map_err(|e| children::too_few(made, threads, &e))?;
        spinners.push(spinner);
        tids.push(tid);
    }
    desk::serve(tids, |request| match request.strip_prefix("cpu ") {
        Some(thread) => Some(vec![cpu_time(spinners.get(thread.parse::<usize>().ok()?)?)?]),
        None if request == "stop" => {
            stop.store(true, Relaxed);
            spinners.drain(..).map(|spinner| spinner.join().ok()).collect()
        }
        None => None,
    })
}

/// Binds this thread and those that it will create to CPUs; an empty list binds them to none.
fn confine(cpus: &[usize]) -> Result<(), Refusal> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for cpu in cpus {
        if *cpu >= CpuSet::MAX_CPU {
            return Err(Refusal::Other(format!("no CPU {cpu}: choose another")));
        }
        set.set(*cpu);
    }
    sched_setaffinity(None, &set)
        .map_err(|error| Refusal::Other(format!("cannot run on CPUs {cpus:?}: {error}")))
}

fn start(stop: &Arc<AtomicBool>) -> std::io::Result<(Spinner, u32)> {
    let (sender, receiver) = mpsc::channel();
    let stop = Arc::clone(stop);
    let spinner = thread::Builder::new().spawn(move || {
        // The receiver waits for it below.
        let _ = sender.send(gettid().as_raw_nonzero().get() as u32);
        while !stop.load(Relaxed) {
            work::chunk();
        }
        work::nanoseconds(ClockId::ThreadCPUTime)
    })?;
    let tid = receiver.recv().map_err(std::io::Error::other)?;
    Ok((spinner, tid))
}

/// CPU time of a running thread; only its own process may read it.
fn cpu_time(spinner: &Spinner) -> Option<u64> {
    let mut clock = 0;
    // SAFETY: the thread is not joined, so its handle is valid.
    let known = unsafe { libc::pthread_getcpuclockid(spinner.as_pthread_t(), &mut clock) } == 0;
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: points to space for the result, which is read only after success.
    let time = unsafe {
        (known && libc::clock_gettime(clock, time.as_mut_ptr()) == 0).then(|| time.assume_init())?
    };
    Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
