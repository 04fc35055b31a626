//! Places window ends so that one end serves many readers; pure.
//!
//! Each reader has its own interval, and a window's end costs the same for any number of readers.
//! So ends lie on a grid of 1, 0.5, 0.2 or 0.1 s, the coarsest that the interval allows. Readers
//! share the points of their grids, at most ten ends a second. A reader with an interval
//! of one second waits up to a second for its first end. From then on it asks right after a grid
//! point, and its end is ready at once.
//!
//! One request may be for several ends, an interval apart ([`Beat`]). The reader gets them without
//! further requests, which would wake the daemon. A request at once is not bound to the grid while
//! its allowance lasts.

use crate::at_once::Allowance;
use crate::beat::Beat;

/// Shortest time between two ends, ns.
pub const SHORTEST_NS: u64 = 100_000_000;
/// Coarsest grid, ns: the longest wait for the first end.
const COARSEST_NS: u64 = 1_000_000_000;
/// A request this long after a grid point still gets its end, ns.
const LATE_NS: u64 = 50_000_000;

/// Distances of grid points, ns. Each grid contains the points of the coarser ones.
const GRIDS: [u64; 4] = [COARSEST_NS, 500_000_000, 200_000_000, SHORTEST_NS];

/// Number of a reader.
pub type Asker = u64;

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct WindowRequest {
    /// The reader's interval, ns; `None` if unknown.
    pub interval_ns: Option<u64>,
    /// Earliest end that serves, ns.
    pub after_ns: u64,
    /// Number of ends, an interval apart.
    pub ends: u32,
    /// End the first window now instead of at a grid point.
    pub at_once: bool,
}

/// A reader that waits for an end.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    asker: Asker,
    after_ns: u64,
    due_ns: u64,
    /// The end may follow the one before at any distance.
    at_once: bool,
    then: NextEnds,
}

/// Further ends that a reader waits for.
#[derive(Clone, Copy, Debug)]
enum NextEnds {
    Nothing,
    /// More ends at a pace.
    Pace {
        interval_ns: u64,
        grid_ns: u64,
        ends: u32,
    },
    Beat(Beat),
}

impl WindowRequest {
    fn then(&self) -> NextEnds {
        match (self.interval_ns, self.ends.saturating_sub(1)) {
            (None, _) | (_, 0) => NextEnds::Nothing,
            (Some(interval_ns), ends) => {
                NextEnds::Pace { interval_ns, grid_ns: grid_ns(self.interval_ns), ends }
            }
        }
    }
}

impl Waiting {
    /// The further ends that the reader waits for after an end that serves it; `None`: no end.
    fn served(self, at_ns: u64) -> Option<Waiting> {
        let beat = match self.then {
            NextEnds::Nothing => return None,
            NextEnds::Pace { interval_ns, grid_ns, ends } => {
                Beat::after(at_ns, interval_ns, grid_ns, ends)
            }
            NextEnds::Beat(beat) => beat,
        };
        let due_ns = beat.next_ns(at_ns)?;
        let then = NextEnds::Beat(beat);
        Some(Waiting { after_ns: due_ns, due_ns, at_once: false, then, ..self })
    }
}

/// The readers that wait, and the last end.
#[derive(Debug, Default)]
pub struct Schedule {
    last_ns: Option<u64>,
    waiting: Vec<Waiting>,
    allowance: Allowance,
}

/// Distance of grid points for this interval, ns.
fn grid_ns(interval_ns: Option<u64>) -> u64 {
    let interval_ns = interval_ns.unwrap_or(SHORTEST_NS);
    GRIDS.into_iter().find(|&grid| grid <= interval_ns).unwrap_or(SHORTEST_NS)
}

/// How long after a grid point its end still serves, ns.
fn late_ns(grid_ns: u64) -> u64 {
    LATE_NS.min(grid_ns / 10)
}

/// Earliest end that serves a reader that asks every `interval_ns` (`None`: unknown), has figures
/// up to `has_ns` and asks now. It may be in the past.
pub fn after_ns(interval_ns: Option<u64>, has_ns: Option<u64>, now_ns: u64) -> u64 {
    let after_ns = now_ns.saturating_sub(late_ns(grid_ns(interval_ns)));
    has_ns.map_or(after_ns, |has_ns| after_ns.max(has_ns + 1))
}

/// When an end is due for a reader with this interval: now, just after a grid point, else at the
/// next one.
fn point_ns(interval_ns: Option<u64>, now_ns: u64) -> u64 {
    let grid_ns = grid_ns(interval_ns);
    let point_ns = now_ns - now_ns % grid_ns;
    match now_ns - point_ns <= late_ns(grid_ns) {
        true => now_ns,
        false => point_ns + grid_ns,
    }
}

/// Instants of a request, for a reader with some interval that asks now.
#[derive(Clone, Copy, Debug)]
pub struct Due {
    /// When the reader asks, ns.
    pub now_ns: u64,
    /// Earliest end that serves, ns.
    pub after_ns: u64,
    /// When the next end is due, ns.
    pub point_ns: u64,
    /// Distance of grid points, ns.
    pub grid_ns: u64,
}

impl Due {
    /// Computes them for a reader that has figures up to `has_ns`.
    pub fn new(interval_ns: Option<u64>, has_ns: Option<u64>, now_ns: u64) -> Due {
        Due {
            now_ns,
            after_ns: after_ns(interval_ns, has_ns, now_ns),
            point_ns: point_ns(interval_ns, now_ns),
            grid_ns: grid_ns(interval_ns),
        }
    }
}

impl Schedule {
    /// Replaces the reader's request. An overdue end stays overdue: a new request must not delay
    /// it.
    pub fn ask(&mut self, asker: Asker, asked: WindowRequest, now_ns: u64) {
        let is_overdue = |waiting: &Waiting| {
            waiting.asker == asker && (asked.after_ns..=now_ns).contains(&waiting.due_ns)
        };
        let overdue_ns = self.waiting.iter().find(|one| is_overdue(one)).map(|one| one.due_ns);
        let due_ns = overdue_ns.unwrap_or_else(|| point_ns(asked.interval_ns, now_ns));
        let (after_ns, then) = (asked.after_ns, asked.then());
        let mut waiting = Waiting { asker, after_ns, due_ns, at_once: false, then };
        self.leave(asker);
        if let Some(last_ns) = self.last_ns.filter(|&last_ns| last_ns >= after_ns) {
            return self.waiting.extend(waiting.served(last_ns));
        }
        if asked.at_once && self.allowance.take(now_ns) {
            (waiting.due_ns, waiting.at_once) = (now_ns.min(due_ns), true);
        }
        self.waiting.push(waiting);
    }

    /// Drops the reader's request.
    pub fn leave(&mut self, asker: Asker) {
        self.waiting.retain(|waiting| waiting.asker != asker);
    }

    /// Notes a window's end; returns the readers that waited for it.
    pub fn ended(&mut self, at_ns: u64) -> Vec<Asker> {
        self.last_ns = Some(at_ns);
        let (served, waiting): (Vec<_>, Vec<_>) =
            self.waiting.drain(..).partition(|waiting| waiting.after_ns <= at_ns);
        self.waiting = waiting;
        self.waiting.extend(served.iter().filter_map(|waiting| waiting.served(at_ns)));
        served.iter().map(|waiting| waiting.asker).collect()
    }

    /// The last end; `None` before the first.
    pub fn last_ns(&self) -> Option<u64> {
        self.last_ns
    }

    /// When the next window should end; `None` if no reader waits.
    pub fn due_ns(&self) -> Option<u64> {
        let earliest_ns = self.last_ns.map_or(0, |last_ns| last_ns + SHORTEST_NS);
        let due_ns = |waiting: &Waiting| match waiting.at_once {
            true => waiting.due_ns,
            false => waiting.due_ns.max(earliest_ns),
        };
        self.waiting.iter().map(due_ns).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const S: u64 = 1_000_000_000;
    const MS: u64 = 1_000_000;

    /// Simulates readers with these intervals and first instants for ten seconds. Returns the
    /// window ends, and for each reader the ends that it got.
    fn ends(lookers: &[(u64, u64)]) -> (Vec<u64>, Vec<Vec<u64>>) {
        let mut schedule = Schedule::default();
        let mut next: Vec<u64> = lookers.iter().map(|&(_, from_ns)| 100 * S + from_ns).collect();
        let mut after: Vec<Option<u64>> = vec![None; lookers.len()];
        let (mut all, mut theirs) = (Vec::new(), vec![Vec::new(); lookers.len()]);
        let mut beats: Vec<Option<u64>> = vec![None; lookers.len()];
        loop {
            let asks =
                (0..lookers.len()).filter(|&n| after[n].is_none()).map(|n| (next[n], n)).min();
            let (due_ns, ask) = match (schedule.due_ns(), asks) {
                (Some(due_ns), Some((ask_ns, n))) if ask_ns < due_ns => (ask_ns, Some(n)),
                (Some(due_ns), _) => (due_ns, None),
                (None, Some((ask_ns, n))) => (ask_ns, Some(n)),
                (None, None) => panic!("a reader always asks or waits"),
            };
            if due_ns > 110 * S {
                return (all, theirs);
            }
            match ask {
                Some(n) => {
                    let interval_ns = Some(lookers[n].0);
                    let after_ns = after_ns(interval_ns, theirs[n].last().copied(), due_ns);
                    schedule.ask(
                        n as u64,
                        WindowRequest { interval_ns, after_ns, ends: 1, at_once: false },
                        due_ns,
                    );
                    after[n] = Some(after_ns);
                }
                None => {
                    schedule.ended(due_ns);
                    all.push(due_ns);
                }
            }
            let Some(&last_ns) = all.last() else { continue };
            for n in 0..lookers.len() {
                if after[n].is_some_and(|after_ns| after_ns <= last_ns) {
                    after[n] = None;
                    theirs[n].push(last_ns);
                    // The reader displays the window for a millisecond; its beat then starts at the
                    // first end.
                    let begun = *beats[n].get_or_insert(due_ns.max(last_ns) + MS);
                    let passed = (due_ns.max(last_ns) + MS - begun) / lookers[n].0;
                    next[n] = begun + (passed + 1) * lookers[n].0;
                }
            }
        }
    }

    #[test]
    fn twenty_readers_with_a_second_interval_share_one_end_a_second() {
        let lookers: Vec<_> = (0..20).map(|n| (S, n * 47 * MS)).collect();
        let (all, theirs) = ends(&lookers);
        let whole = all.iter().filter(|&&at| at > 102 * S).count();
        assert!((7..=8).contains(&whole), "{all:?}");
        for theirs in theirs {
            assert!(theirs
                .windows(2)
                .skip(1)
                .all(|pair| (pair[1] - pair[0]).abs_diff(S) < 100 * MS));
        }
    }

    #[test]
    fn a_single_reader_has_windows_as_long_as_its_interval() {
        for interval_ns in [100 * MS, 250 * MS, 700 * MS, S, 3 * S] {
            let (_, theirs) = ends(&[(interval_ns, 33 * MS)]);
            let lengths = theirs[0].windows(2).map(|pair| pair[1] - pair[0]);
            let grid_ns = grid_ns(Some(interval_ns));
            assert!(
                lengths.clone().all(|ns| ns.abs_diff(interval_ns) <= grid_ns),
                "{interval_ns}: {theirs:?}"
            );
            assert!(lengths.clone().count() >= 2, "{interval_ns}");
        }
    }

    #[test]
    fn an_end_just_before_the_request_serves_too() {
        let mut schedule = Schedule::default();
        let ask = |schedule: &mut Schedule, asker, has_ns, now_ns| {
            let after_ns = after_ns(Some(S), has_ns, now_ns);
            let (interval_ns, ends, at_once) = (Some(S), 1, false);
            schedule.ask(asker, WindowRequest { interval_ns, after_ns, ends, at_once }, now_ns);
        };
        ask(&mut schedule, 1, None, 10 * S);
        assert_eq!(schedule.due_ns(), Some(10 * S));
        schedule.ended(10 * S);
        ask(&mut schedule, 2, None, 10 * S + 20 * MS);
        assert_eq!(schedule.due_ns(), None);
        ask(&mut schedule, 3, None, 10 * S + 60 * MS);
        assert_eq!(schedule.due_ns(), Some(11 * S), "too late for that one");
        schedule.leave(3);
        assert_eq!(schedule.due_ns(), None);
        ask(&mut schedule, 1, Some(10 * S), 10 * S + 20 * MS);
        assert_eq!(schedule.due_ns(), Some(10 * S + SHORTEST_NS), "that one they have");
    }

    #[test]
    fn a_late_end_is_not_delayed_by_a_new_request_for_it() {
        let mut schedule = Schedule::default();
        let (interval_ns, ends, at_once) = (Some(S), 32, false);
        let asked = |after_ns| WindowRequest { interval_ns, after_ns, ends, at_once };
        schedule.ask(1, asked(10 * S), 10 * S);
        schedule.ended(10 * S);
        assert_eq!(schedule.due_ns(), Some(11 * S));
        // The end is late; the waiting reader asks again, and gets it as soon as possible.
        schedule.ask(1, asked(11 * S - 50 * MS), 11 * S + 100 * MS);
        assert_eq!(schedule.due_ns(), Some(11 * S));
        assert_eq!(schedule.ended(11 * S + 150 * MS), [1]);
        assert_eq!(schedule.due_ns(), Some(12 * S), "and the pace is as it was");
        // A reader that wants a later end waits for it.
        schedule.ask(1, asked(12 * S + 80 * MS), 12 * S + 100 * MS);
        assert_eq!(schedule.due_ns(), Some(13 * S));
        schedule.ask(2, asked(12 * S + 80 * MS), 12 * S + 120 * MS);
        assert_eq!(schedule.due_ns(), Some(13 * S), "others have nothing overdue");
    }

    #[test]
    fn ends_of_one_request_come_without_further_requests() {
        let mut schedule = Schedule::default();
        let asked = |interval_ms, after_ns, ends| WindowRequest {
            interval_ns: Some(interval_ms * MS),
            after_ns,
            ends,
            at_once: false,
        };
        schedule.ask(1, asked(500, 10 * S, 3), 10 * S);
        schedule.ask(2, asked(1000, 10 * S, 2), 10 * S);
        let mut told = Vec::new();
        while let Some(due_ns) = schedule.due_ns() {
            told.push((due_ns / MS, schedule.ended(due_ns + 200_000)));
        }
        for (_, askers) in &mut told {
            askers.sort_unstable();
        }
        assert_eq!(told, [(10_000, vec![1, 2]), (10_500, vec![1]), (11_000, vec![1, 2])]);
        // The end that exists is the first of the series; a new request replaces the old one.
        schedule.ask(1, asked(500, 11 * S, 9), 11 * S + 10 * MS);
        schedule.ask(1, asked(1000, 11 * S, 2), 11 * S + 20 * MS);
        assert_eq!(schedule.due_ns(), Some(12 * S));
        assert_eq!(schedule.ended(12 * S - 10 * MS), [0; 0], "that is not their point");
        assert_eq!(schedule.due_ns(), Some(12 * S + 90 * MS), "so soon after another none ends");
        assert_eq!(schedule.ended(12 * S + 90 * MS), [1]);
        assert_eq!(schedule.due_ns(), None);
    }

    #[test]
    fn an_end_at_once_does_not_wait_for_the_grid_and_leaves_the_paces_of_others() {
        let mut schedule = Schedule::default();
        let asked = |after_ns, at_once: bool| {
            let interval_ns = (!at_once).then_some(S);
            WindowRequest { interval_ns, after_ns, ends: 1, at_once }
        };
        schedule.ended(10 * S);
        schedule.ask(1, asked(10 * S + 20 * MS, false), 10 * S + 60 * MS);
        schedule.ask(2, asked(10 * S + 61 * MS, true), 10 * S + 61 * MS);
        assert_eq!(schedule.due_ns(), Some(10 * S + 61 * MS));
        assert_eq!(schedule.ended(10 * S + 62 * MS).len(), 2, "it serves every reader that waits");
        schedule.ask(2, asked(10 * S + 62 * MS, true), 10 * S + 64 * MS);
        assert_eq!(schedule.due_ns(), None);
        let all = (0..1000).filter(|_| {
            schedule.ask(3, asked(10 * S + 70 * MS, true), 10 * S + 70 * MS);
            schedule.due_ns() == Some(10 * S + 70 * MS)
        });
        assert!((40..60).contains(&all.count()), "without allowance the grid holds");
    }

    proptest! {
        /// With any readers, there are at most ten ends a second, and each reader is served.
        #[test]
        fn ends_are_bounded_and_every_reader_is_served(
            lookers in prop::collection::vec((20 * MS..3 * S, 0..S), 1..30)
        ) {
            let (all, theirs) = ends(&lookers);
            prop_assert!(all.windows(2).all(|pair| pair[1] - pair[0] >= SHORTEST_NS));
            for (looker, theirs) in lookers.iter().zip(theirs) {
                prop_assert!(theirs.len() >= 2, "{:?}: {:?}", looker, theirs);
                let most = looker.0.max(SHORTEST_NS) + 2 * grid_ns(Some(looker.0)) + SHORTEST_NS;
                prop_assert!(theirs.windows(2).all(|pair| pair[1] > pair[0] && pair[1] - pair[0] <= most));
            }
        }
    }
}
