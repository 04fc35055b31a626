//! Drops capabilities of this process's own threads (capabilities(7)) for good, from the bounding
//! set too.

use rustix::io::{Errno, Result};
use rustix::thread::{
    capabilities, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, CapabilitySet as Caps, CapabilitySets,
};

/// Drops all capabilities but `kept`, which stay in force, and `asked`, which stay permitted.
///
/// Capabilities belong to a thread: this drops those of the calling thread. Call it before other
/// threads start, or let each thread call it.
///
/// # Errors
/// A container's seccomp filter refuses it; the thread then keeps the capabilities of the process.
pub fn keep(kept: Caps, asked: Caps) -> Result<()> {
    bounded(kept | asked)?;
    let had = capabilities(None)?;
    // The ambient set must be empty first: it may not hold capabilities that are not permitted.
    match clear_ambient_capability_set() {
        Ok(()) | Err(Errno::INVAL) => {}
        Err(errno) => return Err(errno),
    }
    let permitted = had.permitted & (kept | asked);
    let effective = permitted & kept;
    set_capabilities(None, CapabilitySets { effective, permitted, inheritable: Caps::empty() })
}

/// Drops all capabilities of the calling thread, which only reads from what is open. If a container's
/// seccomp filter refuses this, the thread keeps those of the process.
pub fn give_up() {
    let _ = keep(Caps::empty(), Caps::empty());
}

/// Prevents started programs from getting other capabilities. This needs CAP_SETPCAP; other
/// processes have no_new_privs.
fn bounded(kept: Caps) -> Result<()> {
    if !capabilities(None)?.effective.contains(Caps::SETPCAP) {
        return Ok(());
    }
    // All bits, also those of capabilities newer than these names.
    for bit in (0..u64::BITS).map(|bit| Caps::from_bits_retain(1 << bit)) {
        if kept.contains(bit) {
            continue;
        }
        match remove_capability_from_bounding_set(bit) {
            Ok(()) => {}
            // The kernel has no more capabilities.
            Err(Errno::INVAL) => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}
