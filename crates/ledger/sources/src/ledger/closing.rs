//! Closing a window without stopping the world.
//!
//! Publish an instant T a little in the future, sleep past it, see every CPU outside our programs
//! once (so that nobody still holds a clock reading from before T), and let the busy ones charge
//! what runs there. From then on the ledger as of T stands still, while everyone goes on.

use super::kernel_side::{Flushed, KernelSide, CUR_IDLE, CUR_OFFLINE};
use crate::clock;
use crate::error::SourceError;

/// How far ahead T is published at first: longer than it takes to publish it.
pub const LEAD_NS: u64 = 200_000;
/// On a machine whose virtual CPUs are taken for milliseconds, once that is noticed.
const LONGEST_LEAD_NS: u64 = 200_000_000;
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
    /// CPUs that were not seen outside our programs, or could not be made to charge what runs.
    pub unsettled: u64,
}

/// Closes the open window; `lead_ns` is how far ahead its end is published, until that was once
/// too short.
pub fn close(kernel: &KernelSide, lead_ns: u64) -> Result<Closed, SourceError> {
    let globals = &kernel.globals;
    let epoch = globals.epoch().wrapping_add(1);
    let late_before = globals.late();
    // Being late marks the window inexact, so it must not happen again.
    let lead_ns = lead_ns.saturating_mul(1 << (4 * late_before.min(4))).min(LONGEST_LEAD_NS);
    globals.set_lead_ns(lead_ns);
    globals.clear_dirty(epoch);
    kernel.publish()?;
    let t_ns = globals.boundary_t()[epoch as usize & 1];
    let late = globals.late() != late_before;
    clock::sleep_until(t_ns + AFTER_NS);
    let (mut offline, mut unsettled) = (0, 0);
    for cpu in 0..kernel.possible_cpus {
        unsettled += u64::from(!kernel.wait_until_outside(cpu));
        let cur = kernel.cpus.field(cpu, |c| unsafe { &raw const (*c).cur });
        if cur == CUR_OFFLINE || (cur == CUR_IDLE && !kernel.missed_a_switch(cpu)?) {
            continue;
        }
        match kernel.flush(cpu)? {
            Flushed::Done => {}
            Flushed::Offline => offline += 1,
            Flushed::Busy => unsettled += 1,
        }
    }
    Ok(Closed { epoch, t_ns, late, offline, unsettled })
}
