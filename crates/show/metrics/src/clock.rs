//! Converts from the ledger's clock to wall-clock time.

use rustix::time::{clock_gettime, ClockId, Timespec};

/// The wall clock's value when CLOCK_MONOTONIC, the clock of windows, was 0. It is read once, so
/// that a later change of the wall clock moves no counter's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    wall_at_zero_ns: i128,
}

impl Clock {
    /// A clock with this instant, ns since the epoch, at 0 of CLOCK_MONOTONIC.
    pub fn new(wall_at_zero_ns: i128) -> Clock {
        Clock { wall_at_zero_ns }
    }

    /// Reads the machine's clocks.
    pub fn read() -> Clock {
        let monotonic = clock_gettime(ClockId::Monotonic);
        let wall = clock_gettime(ClockId::Realtime);
        Clock { wall_at_zero_ns: ns(wall) - ns(monotonic) }
    }

    /// An instant of CLOCK_MONOTONIC in ns since the epoch.
    pub fn wall_ns(&self, monotonic_ns: u64) -> i128 {
        self.wall_at_zero_ns + i128::from(monotonic_ns)
    }
}

fn ns(time: Timespec) -> i128 {
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}
