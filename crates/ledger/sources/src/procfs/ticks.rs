//! Converts ticks of `USER_HZ`, the unit of time in /proc, to nanoseconds, and reads the clocks.

use rustix::time::{clock_gettime, ClockId, Timespec};

const NS_PER_S: u64 = 1_000_000_000;

/// The length of a tick (sysconf(3), `_SC_CLK_TCK`; 100 a second nearly everywhere).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticks {
    per_s: u64,
}

impl Ticks {
    pub fn of_this_system() -> Ticks {
        Ticks { per_s: rustix::param::clock_ticks_per_second().max(1) }
    }

    /// Ticks in nanoseconds; `None` for an implausible count from a damaged line.
    pub fn to_ns(self, ticks: u64) -> Option<u64> {
        u64::try_from(u128::from(ticks) * u128::from(NS_PER_S) / u128::from(self.per_s)).ok()
    }

    /// One tick, ns; the resolution of all times in ticks.
    pub fn tick_ns(self) -> u64 {
        NS_PER_S / self.per_s
    }
}

/// An instant on the two clocks that /proc needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockSample {
    /// CLOCK_MONOTONIC, ns: the clock of windows.
    pub monotonic_ns: u64,
    /// Time since boot in which the machine was suspended, ns. CLOCK_BOOTTIME, the clock of start
    /// times, includes it; CLOCK_MONOTONIC does not.
    pub suspended_ns: u64,
}

impl ClockSample {
    /// Reads the clocks, CLOCK_BOOTTIME first. A pause between the two reads makes the suspended
    /// time shorter and births later, so that no time of a new task is lost.
    pub fn read() -> ClockSample {
        let boottime_ns = ns(clock_gettime(ClockId::Boottime));
        let monotonic_ns = ns(clock_gettime(ClockId::Monotonic));
        ClockSample { monotonic_ns, suspended_ns: boottime_ns.saturating_sub(monotonic_ns) }
    }
}

/// CPU time of this process so far, ns (CLOCK_PROCESS_CPUTIME_ID).
pub(crate) fn own_cpu_ns() -> u64 {
    ns(clock_gettime(ClockId::ProcessCPUTime))
}

/// Nanoseconds of a clock that is never negative.
fn ns(time: Timespec) -> u64 {
    time.tv_sec as u64 * NS_PER_S + time.tv_nsec as u64
}

/// Parses a decimal number, signed or unsigned.
pub(crate) fn number<T: std::str::FromStr>(field: &[u8]) -> Option<T> {
    std::str::from_utf8(field).ok()?.parse().ok()
}
