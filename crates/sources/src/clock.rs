//! The clock of the ledger: CLOCK_MONOTONIC, which `bpf_ktime_get_ns` reads too.

#[cfg(feature = "bpf")]
use rustix::thread::{clock_nanosleep_absolute, ClockId as SleepClock};
use rustix::time::{clock_gettime, ClockId, Timespec};

fn ns(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Now, CLOCK_MONOTONIC ns.
pub fn now_ns() -> u64 {
    ns(clock_gettime(ClockId::Monotonic))
}

/// Returns at `at_ns` or later.
#[cfg(feature = "bpf")]
pub fn sleep_until(at_ns: u64) {
    let at =
        Timespec { tv_sec: (at_ns / 1_000_000_000) as i64, tv_nsec: (at_ns % 1_000_000_000) as _ };
    while now_ns() < at_ns {
        // Interrupted by a signal: the loop looks at the clock again.
        let _ = clock_nanosleep_absolute(SleepClock::Monotonic, &at);
    }
}
