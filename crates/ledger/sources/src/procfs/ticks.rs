//! Ticks of `USER_HZ`, in which /proc counts time, as nanoseconds; and where time begins.

use rustix::time::{clock_gettime, ClockId, Timespec};

const NS_PER_S: u64 = 1_000_000_000;

/// The length of a tick (sysconf(3), `_SC_CLK_TCK`; 100 a second nearly everywhere).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticks {
    per_s: u64,
}

impl Ticks {
    /// As this system counts them.
    pub fn of_this_system() -> Ticks {
        Ticks { per_s: rustix::param::clock_ticks_per_second().max(1) }
    }

    /// `None` for a count no machine lives long enough to reach: the line is damaged.
    pub fn to_ns(self, ticks: u64) -> Option<u64> {
        u64::try_from(u128::from(ticks) * u128::from(NS_PER_S) / u128::from(self.per_s)).ok()
    }

    /// One tick, the resolution of everything counted in ticks.
    pub fn tick_ns(self) -> u64 {
        NS_PER_S / self.per_s
    }
}

/// An instant on the two clocks /proc needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Now {
    /// CLOCK_MONOTONIC, ns: the clock of windows.
    pub monotonic_ns: u64,
    /// How long the machine was suspended since boot, ns: CLOCK_BOOTTIME, on which start times
    /// are counted, runs on meanwhile, CLOCK_MONOTONIC does not.
    pub suspended_ns: u64,
}

impl Now {
    /// Reads the clocks. CLOCK_BOOTTIME first: a pause between the two reads makes the suspended
    /// time shorter and births later, so that nothing a newborn did is lost.
    pub fn read() -> Now {
        let boottime_ns = ns(clock_gettime(ClockId::Boottime));
        let monotonic_ns = ns(clock_gettime(ClockId::Monotonic));
        Now { monotonic_ns, suspended_ns: boottime_ns.saturating_sub(monotonic_ns) }
    }
}

/// CPU time of this process so far, ns (CLOCK_PROCESS_CPUTIME_ID).
pub(crate) fn own_cpu_ns() -> u64 {
    ns(clock_gettime(ClockId::ProcessCPUTime))
}

/// Nanoseconds of a clock that never stands before its zero.
fn ns(time: Timespec) -> u64 {
    time.tv_sec as u64 * NS_PER_S + time.tv_nsec as u64
}

/// An unsigned or signed decimal number.
pub(crate) fn number<T: std::str::FromStr>(field: &[u8]) -> Option<T> {
    std::str::from_utf8(field).ok()?.parse().ok()
}
