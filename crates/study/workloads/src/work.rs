//! Uses CPU time on purpose, and reads the clocks that measure it.

use rustix::time::{clock_gettime, ClockId};
use std::hint::black_box;
use std::time::Duration;

/// Rounds between two reads of a clock: some microseconds, nearly all in user mode.
const ROUNDS: u64 = 10_000;

/// A few microseconds in user mode.
pub(crate) fn chunk() {
    for round in 0..ROUNDS {
        black_box(round);
    }
}

/// Works until `clock`, a CPU time clock, reaches `until`. Does not allocate.
pub(super) fn until(clock: ClockId, until: Duration) {
    let until = until.as_nanos() as u64;
    while nanoseconds(clock) < until {
        chunk();
    }
}

/// Time of a clock, ns.
pub(crate) fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
