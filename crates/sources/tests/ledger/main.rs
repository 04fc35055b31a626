//! The ledger against the running kernel: conservation under load, outside witnesses, corners.
//!
//! One binary, so that it can be carried to other kernels. It needs the right to load BPF
//! programs; where that is missing the tests fail and say so, because a green run that measured
//! nothing would be worse. `EXACTOP_NO_LEDGER_TESTS=1` leaves them out on purpose.
#![cfg(feature = "bpf")]

mod attach;
mod books;
mod calls;
mod conservation;
mod corners;
mod cost;
mod crowd;
mod hotplug;
mod identity;
mod interrupts;
mod io_uring;
mod microstates;
mod sources;
mod teardown;
mod waits;
mod wakes;
mod witnesses;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The tests measure the whole machine: one at a time.
static MACHINE: Mutex<()> = Mutex::new(());

/// The machine for one test; `None` when these tests are left out on purpose.
fn machine() -> Option<MutexGuard<'static, ()>> {
    if std::env::var_os("EXACTOP_NO_LEDGER_TESTS").is_some() {
        eprintln!("left out: EXACTOP_NO_LEDGER_TESTS is set");
        return None;
    }
    Some(MACHINE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Whether this machine is emulated instruction by instruction: slow, and its own sort of trouble.
fn emulated() -> bool {
    std::env::var_os("EXACTOP_TEST_EMULATED").is_some()
}
