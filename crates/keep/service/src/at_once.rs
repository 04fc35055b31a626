//! Bounds the windows that end at once instead of on the grid; pure.
//!
//! A window's end costs the daemon, so readers share the points of a grid. A run has two events
//! that no grid knows: the command's start and its exit. Their windows end at once while this
//! allowance lasts, and on the grid after that.

/// Most ends at once in a row.
const MOST: u64 = 50;
/// Time in which the allowance grows by one end, ns: 20 ends a second.
const EACH_NS: u64 = 50_000_000;

/// The ends at once that are left.
#[derive(Debug, Default)]
pub struct Allowance {
    /// When the allowance will be full again, CLOCK_MONOTONIC ns.
    full_ns: u64,
}

impl Allowance {
    /// Takes one end; returns false if none is left.
    pub fn take(&mut self, now_ns: u64) -> bool {
        let full_ns = self.full_ns.max(now_ns) + EACH_NS;
        let has_one = full_ns - now_ns <= MOST * EACH_NS;
        if has_one {
            self.full_ns = full_ns;
        }
        has_one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_of_runs_gets_its_first_ends_at_once_and_twenty_a_second_after_them() {
        let mut allowance = Allowance::default();
        let begin_ns = 1_000_000_000_000;
        // A request each millisecond, for ten seconds.
        let taken = (0..10_000).filter(|ms| allowance.take(begin_ns + ms * 1_000_000)).count();
        assert!((249..=250).contains(&taken), "{taken}");
        let later_ns = begin_ns + 20_000_000_000;
        assert_eq!((0..100).filter(|_| allowance.take(later_ns)).count(), MOST as usize);
    }
}
