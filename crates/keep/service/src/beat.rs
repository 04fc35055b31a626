//! Window ends at a fixed pace that need no further requests; pure. The daemon ends windows by it;
//! the reader computes from it which ends will come.

/// Most ends per request. A reader that stops looking gets up to this many more.
pub const MOST_ENDS: u32 = 32;

/// A series of ends at one pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    from_ns: u64,
    interval_ns: u64,
    grid_ns: u64,
    /// Number of ends after the first.
    ends: u32,
}

impl Beat {
    /// Schedules `ends` ends after the one at `end_ns`, `interval_ns` apart, rounded up to the
    /// grid.
    pub fn after(end_ns: u64, interval_ns: u64, grid_ns: u64, ends: u32) -> Beat {
        let interval_ns = interval_ns.max(grid_ns);
        Beat { from_ns: end_ns - end_ns % grid_ns, interval_ns, grid_ns, ends }
    }

    /// The first end after `after_ns`; `None` after the last.
    pub fn next_ns(&self, after_ns: u64) -> Option<u64> {
        let number = after_ns.saturating_sub(self.from_ns) / self.interval_ns + 1;
        if number > u64::from(self.ends) {
            return None;
        }
        let at_ns = self.from_ns.checked_add(self.interval_ns.checked_mul(number)?)?;
        at_ns.checked_next_multiple_of(self.grid_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// All ends, each computed from the one before.
    fn all(beat: Beat, mut after_ns: u64) -> Vec<u64> {
        let next = || {
            after_ns = beat.next_ns(after_ns)?;
            Some(after_ns / MS)
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn a_beat_ends_after_its_number_of_ends() {
        let beat = Beat::after(10_000 * MS + 300, 1_000 * MS, 1_000 * MS, 3);
        assert_eq!(all(beat, 10_000 * MS + 300), [11_000, 12_000, 13_000]);
        assert_eq!(all(beat, 12_500 * MS), [13_000]);
        assert_eq!(all(Beat { ends: 0, ..beat }, 0), [0; 0]);
    }

    #[test]
    fn a_pace_off_the_grid_is_rounded_up_to_it() {
        let beat = Beat::after(10_000 * MS, 700 * MS, 500 * MS, 5);
        assert_eq!(all(beat, 10_000 * MS), [11_000, 11_500, 12_500, 13_000, 13_500]);
    }

    #[test]
    fn impossible_paces_are_bounded_by_the_grid() {
        assert_eq!(all(Beat::after(500 * MS, 0, 100 * MS, 2), 500 * MS), [600, 700]);
        assert_eq!(Beat::after(500 * MS, u64::MAX, 100 * MS, 9).next_ns(600 * MS), None);
    }
}
