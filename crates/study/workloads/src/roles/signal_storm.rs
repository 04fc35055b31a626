//! Threads that wake each other from sleep by signals.
//!
//! A signal may arrive while its target is about to sleep: the kernel then returns the thread to
//! the CPU without a wake-up.

use super::{desk, number};
use crate::children;
use crate::error::Refusal;
use rustix::io::Errno;
use rustix::thread::{futex, gettid, nanosleep, NanosleepRelativeResult, Timespec};
use std::convert::Infallible;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::Arc;
use std::thread;

/// Length of a sleep without a signal.
const SLEEP: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000 };

/// Delivered signals. A static, because a signal handler has no other memory.
static DELIVERED: AtomicU64 = AtomicU64::new(0);

struct Ring {
    tids: Vec<AtomicI32>,
    sent: AtomicU64,
    interrupted: AtomicU64,
}

pub(super) fn run(args: &[String]) -> Result<Infallible, Refusal> {
    let threads = number(args, 0)?;
    install_handler().map_err(Refusal::other)?;
    let ring = Arc::new(Ring {
        tids: (0..threads).map(|_| AtomicI32::new(0)).collect(),
        sent: AtomicU64::new(0),
        interrupted: AtomicU64::new(0),
    });
    for place in 0..threads {
        let ring = Arc::clone(&ring);
        let started = thread::Builder::new().spawn(move || ring.stand(place));
        started.map_err(|error| children::too_few(place, threads, &error))?;
    }
    desk::serve([], |request| {
        // Read effects before causes, so that each effect has its cause.
        let [interrupted, delivered, sent] =
            [&ring.interrupted, &DELIVERED, &ring.sent].map(|count| count.load(SeqCst));
        (request == "counts").then(|| vec![sent, delivered, interrupted])
    })
}

extern "C" fn count(_signal: libc::c_int) {
    DELIVERED.fetch_add(1, SeqCst);
}

fn install_handler() -> std::io::Result<()> {
    // SAFETY: zero is a valid value of every field; no flags, so that signals interrupt sleeps.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = count as *const () as libc::sighandler_t;
    // SAFETY: the handler only adds to an atomic.
    match unsafe { libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

impl Ring {
    /// Loop of a thread: signal the next one in the ring, then sleep.
    fn stand(&self, place: usize) {
        self.tids[place].store(gettid().as_raw_nonzero().get(), Relaxed);
        let next = &self.tids[(place + 1) % self.tids.len()];
        for futex_next in [false, true].into_iter().cycle() {
            let tid = next.load(Relaxed);
            if tid != 0 {
                self.sent.fetch_add(1, SeqCst);
                // SAFETY: no pointers; a thread of this process, which does not end before it.
                unsafe { libc::tgkill(libc::getpid(), tid, libc::SIGUSR1) };
            }
            let interrupted = if futex_next { futex_sleep() } else { plain_sleep() };
            if interrupted {
                self.interrupted.fetch_add(1, SeqCst);
            }
        }
    }
}

/// Sleeps; returns true if a signal interrupted it.
fn plain_sleep() -> bool {
    matches!(nanosleep(&SLEEP), NanosleepRelativeResult::Interrupted(_))
}

/// Waits for a lock that is never released; returns true if a signal interrupted it.
fn futex_sleep() -> bool {
    let lock = AtomicU32::new(0);
    futex::wait(&lock, futex::Flags::PRIVATE, 0, Some(&SLEEP)) == Err(Errno::INTR)
}
