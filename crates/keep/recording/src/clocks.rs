//! The clocks beside CLOCK_MONOTONIC, by which windows are measured: the one on the wall, and the one
//! that goes on while the machine is suspended.

use rustix::time::{clock_gettime, ClockId};

/// How often they are read again where something came between.
const TRIES: usize = 5;
/// Reading them takes no longer when nothing does.
const AT_ONCE_NS: i64 = 100_000;
/// CLOCK_BOOTTIME that went ahead by less was read later.
const READ_NS: u64 = 10_000_000;

/// How far other clocks are ahead of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// CLOCK_REALTIME, ns.
    pub wall_offset_ns: i64,
    /// CLOCK_BOOTTIME, ns: how long the machine was suspended since it booted.
    pub suspended_ns: u64,
}

impl Clocks {
    /// As of now.
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

    /// Also how long reading them took.
    fn read() -> (i64, Clocks) {
        let begin = ns(ClockId::Monotonic);
        let (wall, boot) = (ns(ClockId::Realtime), ns(ClockId::Boottime));
        let took_ns = ns(ClockId::Monotonic) - begin;
        // Never behind, as it only goes on where the other stands still.
        let suspended_ns = boot.abs_diff(begin);
        (took_ns, Clocks { wall_offset_ns: wall - begin, suspended_ns })
    }

    /// How long the machine was suspended since; `None`: it was not.
    pub(crate) fn suspended_since(&self, before: &Clocks) -> Option<u64> {
        let ns = self.suspended_ns.checked_sub(before.suspended_ns)?;
        (ns > READ_NS).then_some(ns)
    }
}

fn ns(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
