//! Closes a window without stopping the machine.
//!
//! The reader publishes an instant T a little in the future and sleeps past it. Then it waits until
//! it has seen every CPU outside of the BPF programs once, so that no program still holds a clock
//! reading from before T. Then it makes the busy CPUs charge what runs there. From then on the
//! ledger as of T stands still, while the machine goes on.

use super::kernel_side::{Flushed, KernelSide, CUR_IDLE, CUR_OFFLINE};
use crate::clock;
use crate::error::SourceError;

/// Lead of T over the present at first, ns: longer than publishing takes.
pub const LEAD_NS: u64 = 200_000;
/// Longest lead, ns, for a machine whose virtual CPUs stop for milliseconds.
const LONGEST_LEAD_NS: u64 = 200_000_000;
/// Wait after T before the reader looks, ns: `bpf_ktime_get_ns` on another CPU may be a little
/// behind.
const AFTER_NS: u64 = 30_000;

/// The end of a closed window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// The epoch that began at T.
    pub epoch: u32,
    /// T, CLOCK_MONOTONIC ns.
    pub t_ns: u64,
    /// True if T had passed before it was published; the window may be off by the delay.
    pub late: bool,
    /// CPUs that went offline while the window was closed.
    pub offline: u64,
    /// CPUs that were not seen outside of the programs, or that could not be made to charge what
    /// runs.
    pub unsettled: u64,
}

/// Closes the open window. `lead_ns` is the lead of its end over the present; after a late window
/// the lead grows.
pub fn close(kernel: &KernelSide, lead_ns: u64) -> Result<Closed, SourceError> {
    let globals = &kernel.globals;
    let epoch = globals.epoch().wrapping_add(1);
    let late_before = globals.late();
    // A late window is inexact, so the lead grows to prevent the next one.
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
