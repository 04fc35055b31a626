//! Offsets of the wall clock and of CLOCK_BOOTTIME (which counts suspended time) from
//! CLOCK_MONOTONIC, which measures windows.

use rustix::time::{clock_gettime, ClockId};

/// Most attempts to read the clocks without an interruption.
const TRIES: usize = 5;
/// Longest time that an uninterrupted read takes.
const AT_ONCE_NS: i64 = 100_000;
/// A CLOCK_BOOTTIME that advanced by less was only read later: no suspend.
const READ_NS: u64 = 10_000_000;

/// How far the other clocks are ahead of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// Offset of CLOCK_REALTIME, ns.
    pub wall_offset_ns: i64,
    /// Offset of CLOCK_BOOTTIME, ns: suspended time since boot.
    pub suspended_ns: u64,
}

impl Clocks {
    /// Reads the clocks now.
    pub fn now() -> Clocks {
        let (mut took_ns, mut clocks) = Clocks::read();
        for _ in 1..TRIES {
            if took_ns <= AT_ONCE_NS {
                break;
            }
            let again = Clocks::read();
            if again.0 < took_ns {
                (took_ns, clocks) = again;
            }
        }
        clocks
    }

    /// Reads the clocks once; also returns how long the read took, ns.
    fn read() -> (i64, Clocks) {
        let begin = ns(ClockId::Monotonic);
        let (wall, boot) = (ns(ClockId::Realtime), ns(ClockId::Boottime));
        let took_ns = ns(ClockId::Monotonic) - begin;
        // Never negative: CLOCK_BOOTTIME also runs while CLOCK_MONOTONIC stands still.
        let suspended_ns = boot.abs_diff(begin);
        (took_ns, Clocks { wall_offset_ns: wall - begin, suspended_ns })
    }

    /// Suspended time since `before`, ns; `None` if there was none.
    pub(crate) fn suspended_since(&self, before: &Clocks) -> Option<u64> {
        let ns = self.suspended_ns.checked_sub(before.suspended_ns)?;
        (ns > READ_NS).then_some(ns)
    }
}

fn ns(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
