//! The ledger against the running kernel: conservation under load, outside witnesses, lives, states,
//! and tables that are too small.
//!
//! One binary, so that it can be carried to other kernels. It needs the right to load BPF
//! programs; where that is missing the tests fail and say so, because a green run that measured
//! nothing would be worse. `EXACTOP_NO_LEDGER_TESTS=1` leaves them out on purpose.
#![cfg(feature = "bpf")]

mod attach;
mod audit;
mod beside_schedstat;
mod books;
mod calls_of_32_bits;
mod conservation;
mod cost;
mod crowd;
mod followed;
mod full_tables;
mod ghosts;
mod herds;
mod hotplug;
mod identity;
mod interrupts;
mod io_uring;
mod kept_from_running;
mod lives;
mod lost_events;
mod microstates;
mod moved;
mod moves;
mod names;
mod one_writer;
mod page_faults;
mod process_names;
mod reaped;
mod sources;
mod states;
mod switches;
mod syscalls;
mod teardown;
mod until;
mod vhost;
mod waits;
mod wake_calls;
mod wakeups;
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

/// Whether a test is left out on an emulated machine, which is said, and why.
fn left_out(why: &str) -> bool {
    if emulated() {
        eprintln!("left out on an emulated machine: {why}");
    }
    emulated()
}

/// Whether this machine skips programs often, which the window then tells. Linux 7.x may preempt a
/// program before its first instruction and runs it for nobody else on that CPU until it goes on;
/// that is a matter of nanoseconds, but of milliseconds where CPUs are emulated in turns. Programs
/// at switches, by which the books are kept, are never preempted.
fn programs_stand_still() -> bool {
    let uname = rustix::system::uname();
    let major = uname.release().to_str().ok().and_then(|release| release.split('.').next());
    emulated() && major.and_then(|major| major.parse().ok()).is_some_and(|n: u32| n >= 7)
}
