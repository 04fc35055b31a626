//! Details that the daemon drops at its memory bound and restores later. No I/O.
//!
//! Each window drops at most one detail: the kernel's memory figure shows the freed memory only
//! after the next window.

/// A detail, in the order in which the daemon drops them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Past windows kept for slow readers.
    History,
    /// Rows of processes that exited.
    Brief,
    /// Rows of threads.
    Threads,
}

/// All details, in the order in which the daemon drops them.
const ALL: [Detail; 3] = [Detail::History, Detail::Brief, Detail::Threads];

/// Up to this number of tasks the smallest bound suffices.
const FEW_TASKS: u64 = 10_000;
/// From this number of tasks on the bound no longer grows.
const MANY_TASKS: u64 = 30_000;
const SMALLEST: u64 = 256 << 20;
const LARGEST: u64 = 512 << 20;
/// Consecutive windows with memory well below the bound before a detail comes back.
const CALM: u32 = 5;
/// Most doublings of `CALM`.
const RELAPSES: u32 = 6;

/// A change that a window caused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The daemon drops this detail from now on.
    GivesUp(Detail),
    /// The daemon reports this detail again.
    TakesBack(Detail),
}

/// State of the dropped details.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Degraded {
    /// Number of dropped details, in the order of `ALL`.
    given_up: usize,
    /// Windows in a row with memory well below the bound.
    calm: u32,
    /// How often a restored detail had to be dropped again.
    relapses: u32,
    has_come_back: bool,
}

impl Degraded {
    /// True if this detail is dropped.
    pub fn has_given_up(&self, detail: Detail) -> bool {
        ALL[..self.given_up].contains(&detail)
    }

    /// Takes the daemon's memory in bytes at the end of a window, and decides on a change.
    ///
    /// At 90 % of the bound the next detail goes. The last dropped detail comes back after five
    /// windows in a row below 70 %. Each relapse doubles that number, up to 320. It is five again
    /// once every detail came back and stayed.
    pub fn window(&mut self, used: u64, bound: u64) -> Option<Change> {
        let tenths = |n: u128| u128::from(bound) * n <= u128::from(used) * 10;
        if tenths(7) {
            self.calm = 0;
        } else {
            self.calm = self.calm.saturating_add(1);
        }
        let patience = CALM << self.relapses;
        if tenths(9) && self.given_up < ALL.len() {
            self.relapses = RELAPSES.min(self.relapses + u32::from(self.has_come_back));
            self.has_come_back = false;
            self.given_up += 1;
            return Some(Change::GivesUp(ALL[self.given_up - 1]));
        }
        if self.calm < patience {
            return None;
        }
        self.calm = 0;
        self.has_come_back = self.given_up > 0;
        if self.given_up == 0 {
            self.relapses = 0;
            return None;
        }
        self.given_up -= 1;
        Some(Change::TakesBack(ALL[self.given_up]))
    }
}

/// The default bound in bytes: 256 MiB up to 10,000 tasks, growing to 512 MiB at 30,000 tasks. A
/// control group's limit caps it at half of that limit, because the group also holds the kernel's
/// memory for the daemon's tables.
pub fn usual_bound(tasks: u64, limit: Option<u64>) -> u64 {
    let more = tasks.clamp(FEW_TASKS, MANY_TASKS) - FEW_TASKS;
    let bound = SMALLEST + (LARGEST - SMALLEST) * more / (MANY_TASKS - FEW_TASKS);
    limit.map_or(bound, |limit| bound.min(limit / 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Changes over `count` windows with this memory.
    fn windows(degraded: &mut Degraded, used: u64, count: u32) -> Vec<Change> {
        (0..count).filter_map(|_| degraded.window(used, 100)).collect()
    }

    #[test]
    fn detail_goes_in_order_and_comes_back_in_reverse_order() {
        use {Change::*, Detail::*};
        let mut degraded = Degraded::default();
        assert_eq!(windows(&mut degraded, 89, 9), []);
        assert_eq!(
            windows(&mut degraded, 90, 9),
            [GivesUp(History), GivesUp(Brief), GivesUp(Threads)]
        );
        assert_eq!(windows(&mut degraded, 70, 99), [], "between the two nothing changes");
        assert_eq!(windows(&mut degraded, 69, 4), []);
        assert_eq!(windows(&mut degraded, 69, 1), [TakesBack(Threads)]);
        assert_eq!(windows(&mut degraded, 69, 10), [TakesBack(Brief), TakesBack(History)]);
        assert_eq!(degraded.given_up, 0);
    }

    #[test]
    fn a_detail_that_has_to_go_again_stays_away_longer() {
        let mut degraded = Degraded::default();
        for relapse in 0..9 {
            assert_eq!(windows(&mut degraded, 95, 1).len(), 1);
            let patience = CALM << relapse.min(RELAPSES);
            assert_eq!(windows(&mut degraded, 10, patience - 1), []);
            assert_eq!(windows(&mut degraded, 10, 1).len(), 1, "{relapse}");
        }
        windows(&mut degraded, 10, CALM << RELAPSES);
        assert_eq!(degraded.relapses, 0, "it stayed");
    }

    #[test]
    fn the_usual_bound_goes_by_tasks_and_by_the_limit() {
        let mib = |tasks, limit: Option<u64>| usual_bound(tasks, limit.map(|n| n << 20)) >> 20;
        assert_eq!(
            [0, 10_000, 20_000, 30_000, 90_000].map(|n| mib(n, None)),
            [256, 256, 384, 512, 512]
        );
        assert_eq!((mib(0, Some(512)), mib(0, Some(200)), mib(0, Some(4000))), (256, 100, 256));
    }

    proptest! {
        /// For any course of memory: one step at a time, down only at the bound, up only after calm
        /// windows.
        #[test]
        fn steps_are_single_and_have_their_reason(used in proptest::collection::vec(0..120u64, 0..400)) {
            let mut degraded = Degraded::default();
            let mut calm = 0;
            for used in used {
                calm = if used < 70 { calm + 1 } else { 0 };
                let before = degraded.given_up;
                let change = degraded.window(used, 100);
                let given_up: Vec<Detail> =
                    ALL.into_iter().filter(|detail| degraded.has_given_up(*detail)).collect();
                prop_assert_eq!(&given_up[..], &ALL[..degraded.given_up]);
                match change {
                    Some(Change::GivesUp(detail)) => {
                        prop_assert!(used >= 90 && detail == ALL[before]);
                        prop_assert_eq!(degraded.given_up, before + 1);
                    }
                    Some(Change::TakesBack(detail)) => {
                        prop_assert!(calm >= CALM && detail == ALL[before - 1]);
                        prop_assert_eq!(degraded.given_up, before - 1);
                    }
                    None => {
                        prop_assert_eq!(degraded.given_up, before);
                        prop_assert!(used < 90 || before == ALL.len(), "at the bound something goes");
                    }
                }
            }
        }
    }
}
