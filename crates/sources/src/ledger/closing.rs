//! Closing a window without stopping the world.
//!
//! Publish an instant T a little in the future, sleep past it, see every CPU outside our programs
//! once (so that nobody still holds a clock reading from before T), and let the busy ones charge
//! what runs there. From then on the ledger as of T stands still, while everyone goes on.

use super::clock;
use super::kernel_side::{Flushed, KernelSide, CUR_IDLE, CUR_OFFLINE};
use crate::error::SourceError;

/// How far ahead T is published: longer than it takes to publish it.
const LEAD_NS: u64 = 200_000;
/// Publish only with at least this much time left.
const MARGIN_NS: u64 = 100_000;
/// How long after T to begin to look: `bpf_ktime_get_ns` on another CPU may be a little behind.
const AFTER_NS: u64 = 30_000;

/// A closed window's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// The epoch that began at T.
    pub epoch: u32,
    /// T, CLOCK_MONOTONIC ns.
    pub t_ns: u64,
    /// T had passed before it was published; the window may be off by the delay.
    pub late: bool,
    /// CPUs that went offline in between.
    pub offline: u64,
}

/// Closes the open window.
pub fn close(kernel: &KernelSide) -> Result<Closed, SourceError> {
    let globals = &kernel.globals;
    let epoch = globals.epoch().wrapping_add(1);
    globals.clear_dirty(epoch);
    let mut t_ns = clock::now_ns() + LEAD_NS;
    globals.set_instant(epoch, t_ns);
    // Held up since? Not published yet: choose again.
    while clock::now_ns() + MARGIN_NS > t_ns {
        t_ns = clock::now_ns() + LEAD_NS;
        globals.set_instant(epoch, t_ns);
    }
    globals.set_epoch(epoch);
    let late = clock::now_ns() >= t_ns;
    clock::sleep_until(t_ns + AFTER_NS);
    let mut offline = 0;
    for cpu in 0..kernel.possible_cpus {
        kernel.wait_until_outside(cpu);
        let cur = kernel.cpus.field(cpu, |c| unsafe { &raw const (*c).cur });
        let quiet = cur == CUR_IDLE || cur == CUR_OFFLINE;
        if !quiet && kernel.flush(cpu)? == Flushed::Offline {
            offline += 1;
        }
    }
    Ok(Closed { epoch, t_ns, late, offline })
}
