//! Tests of the ledger on the running kernel: conservation under load, independent witnesses,
//! births and deaths, states, and tables that are too small.
//!
//! They are one binary, which can be copied to other kernels. It needs the right to load BPF
//! programs. Without it the tests fail with the reason, because a passing run without measurements
//! would be worse. `EXACTOP_NO_LEDGER_TESTS=1` skips them on purpose.
#![cfg(feature = "bpf")]

mod attach;
mod audit;
mod beside_schedstat;
mod blame;
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
mod owed;
mod page_faults;
mod process_names;
mod reaped;
mod sessions;
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

/// The tests measure the whole machine, so they run one at a time.
static MACHINE: Mutex<()> = Mutex::new(());

/// The machine for one test; `None` if these tests are skipped on purpose.
fn machine() -> Option<MutexGuard<'static, ()>> {
    if std::env::var_os("EXACTOP_NO_LEDGER_TESTS").is_some() {
        eprintln!("left out: EXACTOP_NO_LEDGER_TESTS is set");
        return None;
    }
    Some(MACHINE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// True on an emulated machine, which executes instructions slowly and with problems of its own.
fn emulated() -> bool {
    std::env::var_os("EXACTOP_TEST_EMULATED").is_some()
}

/// True if a test is left out on an emulated machine; prints the reason.
fn left_out(why: &str) -> bool {
    if emulated() {
        eprintln!("left out on an emulated machine: {why}");
    }
    emulated()
}

/// True if this machine often skips programs, which the window then reports. Linux 7.x may preempt
/// a program before its first instruction and skips it for other tasks on that CPU until it
/// continues. That takes nanoseconds, but milliseconds on emulated CPUs. Programs at switches, on
/// which the books depend, are never preempted.
fn programs_stand_still() -> bool {
    let uname = rustix::system::uname();
    let major = uname.release().to_str().ok().and_then(|release| release.split('.').next());
    emulated() && major.and_then(|major| major.parse().ok()).is_some_and(|n: u32| n >= 7)
}
