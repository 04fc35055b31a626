//! Capabilities of our own threads (capabilities(7)): given up for good, the bounding set included.

use rustix::io::{Errno, Result};
use rustix::thread::{
    capabilities, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, CapabilitySet as Caps, CapabilitySets,
};

/// Gives up everything but `kept`, which stays in force, and `asked`, which does not.
///
/// Capabilities are a thread's own: it is the calling thread that gives up. Call it before there are others, or let those
/// give up by themselves.
///
/// # Errors
/// A container's filter refuses it: the thread has what the process was given.
pub fn keep(kept: Caps, asked: Caps) -> Result<()> {
    bounded(kept | asked)?;
    let had = capabilities(None)?;
    // An empty ambient set first: it may not hold what is not permitted.
    match clear_ambient_capability_set() {
        Ok(()) | Err(Errno::INVAL) => {}
        Err(errno) => return Err(errno),
    }
    let permitted = had.permitted & (kept | asked);
    let effective = permitted & kept;
    set_capabilities(None, CapabilitySets { effective, permitted, inheritable: Caps::empty() })
}

/// No program that is started could get others back. Only who has CAP_SETPCAP may say so; others
/// have no_new_privs.
fn bounded(kept: Caps) -> Result<()> {
    if !capabilities(None)?.effective.contains(Caps::SETPCAP) {
        return Ok(());
    }
    // Ahead of the kernel's newest, for those that come after these names.
    for bit in (0..u64::BITS).map(|bit| Caps::from_bits_retain(1 << bit)) {
        if kept.contains(bit) {
            continue;
        }
        match remove_capability_from_bounding_set(bit) {
            Ok(()) => {}
            // The kernel knows no more.
            Err(Errno::INVAL) => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}
