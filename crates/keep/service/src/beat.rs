//! Ends that follow one at a pace without being asked for: pure, and counted out alike by the daemon,
//! which ends them, and by the reader, who knows from it what comes by itself.

/// So many ends are asked for at once, at most: whoever stops looking is told so many more.
pub const MOST_ENDS: u32 = 32;

/// Ends at a pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    from_ns: u64,
    interval_ns: u64,
    grid_ns: u64,
    /// How many after the first.
    ends: u32,
}

impl Beat {
    /// So many ends after one at `end_ns`, each this long after the one before, on a grid.
    pub fn after(end_ns: u64, interval_ns: u64, grid_ns: u64, ends: u32) -> Beat {
        let interval_ns = interval_ns.max(grid_ns);
        Beat { from_ns: end_ns - end_ns % grid_ns, interval_ns, grid_ns, ends }
    }

    /// When the first of them is due after an instant; `None`: they are all over.
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

    /// When ends are due, each looked up after the one before.
    fn all(beat: Beat, mut after_ns: u64) -> Vec<u64> {
        let next = || {
            after_ns = beat.next_ns(after_ns)?;
            Some(after_ns / MS)
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn so_many_follow_and_no_more() {
        let beat = Beat::after(10_000 * MS + 300, 1_000 * MS, 1_000 * MS, 3);
        assert_eq!(all(beat, 10_000 * MS + 300), [11_000, 12_000, 13_000]);
        assert_eq!(all(beat, 12_500 * MS), [13_000]);
        assert_eq!(all(Beat { ends: 0, ..beat }, 0), [0; 0]);
    }

    #[test]
    fn a_pace_that_is_not_the_grids_goes_on_to_its_next_points() {
        let beat = Beat::after(10_000 * MS, 700 * MS, 500 * MS, 5);
        assert_eq!(all(beat, 10_000 * MS), [11_000, 11_500, 12_500, 13_000, 13_500]);
    }

    #[test]
    fn paces_that_nobody_can_keep_are_the_grids() {
        assert_eq!(all(Beat::after(500 * MS, 0, 100 * MS, 2), 500 * MS), [600, 700]);
        assert_eq!(Beat::after(500 * MS, u64::MAX, 100 * MS, 9).next_ns(600 * MS), None);
    }
}
