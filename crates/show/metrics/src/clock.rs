//! From the ledger's clock to the one that others read.

use rustix::time::{clock_gettime, ClockId, Timespec};

/// What the wall clock said when the monotonic clock, in which windows are told, stood at 0. It is
/// read once: a wall clock that is set later moves no counter's beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    wall_at_zero_ns: i128,
}

impl Clock {
    /// With this instant, ns since the epoch, at 0 of the monotonic clock.
    pub fn new(wall_at_zero_ns: i128) -> Clock {
        Clock { wall_at_zero_ns }
    }

    /// As the machine's clocks stand now.
    pub fn read() -> Clock {
        let monotonic = clock_gettime(ClockId::Monotonic);
        let wall = clock_gettime(ClockId::Realtime);
        Clock { wall_at_zero_ns: ns(wall) - ns(monotonic) }
    }

    /// An instant of the monotonic clock in ns since the epoch.
    pub fn wall_ns(&self, monotonic_ns: u64) -> i128 {
        self.wall_at_zero_ns + i128::from(monotonic_ns)
    }
}

fn ns(time: Timespec) -> i128 {
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}
