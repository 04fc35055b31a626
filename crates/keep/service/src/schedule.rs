//! When windows end, so that one end serves many: pure.
//!
//! Everyone looks at their own pace, and a window's end costs the same however many look at it. So
//! ends lie on a grid that is as coarse as the pace allows (1, 2, 5 times a power of ten), the grids
//! of all paces share their points, and there are never more than ten ends a second. Whoever looks
//! every second waits up to a second for the first end; from then on they ask right after a point,
//! and the end is there at once.
//!
//! One question may be for several ends, each a pace after the one before ([`Beat`]): those come without
//! being asked for, so that who looks regularly wakes nobody by asking.

use crate::beat::Beat;

/// Two ends are at least so far apart, ns.
pub const SHORTEST_NS: u64 = 100_000_000;
/// No grid is coarser, ns: the first end is not farther away.
const COARSEST_NS: u64 = 1_000_000_000;
/// What one may ask too late after a point and still get it, ns.
const LATE_NS: u64 = 50_000_000;

/// Distances of points, ns. Each holds the points of those after it.
const GRIDS: [u64; 4] = [COARSEST_NS, 500_000_000, 200_000_000, SHORTEST_NS];

/// Who asks.
pub type Asker = u64;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// How often they look; `None`: nobody knows.
    pub interval_ns: Option<u64>,
    /// An end before this does not serve.
    pub after_ns: u64,
    /// How many ends: the others each an interval after the one before.
    pub ends: u32,
}

/// One who waits for an end.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    asker: Asker,
    after_ns: u64,
    due_ns: u64,
    then: Then,
}

/// What comes after that end.
#[derive(Clone, Copy, Debug)]
enum Then {
    Nothing,
    /// So many more at a pace.
    Pace {
        interval_ns: u64,
        grid_ns: u64,
        ends: u32,
    },
    Beat(Beat),
}

impl Asked {
    fn then(&self) -> Then {
        match (self.interval_ns, self.ends.saturating_sub(1)) {
            (None, _) | (_, 0) => Then::Nothing,
            (Some(interval_ns), ends) => {
                Then::Pace { interval_ns, grid_ns: grid_ns(self.interval_ns), ends }
            }
        }
    }
}

impl Waiting {
    /// What they wait for once a window ended that serves; `None`: nothing.
    fn served(self, at_ns: u64) -> Option<Waiting> {
        let beat = match self.then {
            Then::Nothing => return None,
            Then::Pace { interval_ns, grid_ns, ends } => {
                Beat::after(at_ns, interval_ns, grid_ns, ends)
            }
            Then::Beat(beat) => beat,
        };
        let due_ns = beat.next_ns(at_ns)?;
        Some(Waiting { after_ns: due_ns, due_ns, then: Then::Beat(beat), ..self })
    }
}

/// Who waits for what.
#[derive(Debug, Default)]
pub struct Schedule {
    last_ns: Option<u64>,
    waiting: Vec<Waiting>,
}

/// The distance of points for somebody who looks so often.
fn grid_ns(interval_ns: Option<u64>) -> u64 {
    let interval_ns = interval_ns.unwrap_or(SHORTEST_NS);
    GRIDS.into_iter().find(|&grid| grid <= interval_ns).unwrap_or(SHORTEST_NS)
}

/// How long after a point it still counts as there.
fn late_ns(grid_ns: u64) -> u64 {
    LATE_NS.min(grid_ns / 10)
}

/// The instant from which on an end serves somebody who looks every `interval_ns` (`None`: nobody
/// knows), has what there was up to `has_ns` and asks now: it may be past.
pub fn after_ns(interval_ns: Option<u64>, has_ns: Option<u64>, now_ns: u64) -> u64 {
    let after_ns = now_ns.saturating_sub(late_ns(grid_ns(interval_ns)));
    has_ns.map_or(after_ns, |has_ns| after_ns.max(has_ns + 1))
}

/// When an end is due for somebody who looks so often and asks now.
fn point_ns(interval_ns: Option<u64>, now_ns: u64) -> u64 {
    let grid_ns = grid_ns(interval_ns);
    let point_ns = now_ns - now_ns % grid_ns;
    match now_ns - point_ns <= late_ns(grid_ns) {
        true => now_ns,
        false => point_ns + grid_ns,
    }
}

/// What the ends are to a reader that looks every so often and asks now.
#[derive(Clone, Copy, Debug)]
pub struct Due {
    /// When the reader asks, ns.
    pub now_ns: u64,
    /// From which on an end serves.
    pub after_ns: u64,
    /// When the next end is due.
    pub point_ns: u64,
    /// The distance of points.
    pub grid_ns: u64,
}

impl Due {
    /// For a reader that has what there was up to `has_ns`.
    pub fn of(interval_ns: Option<u64>, has_ns: Option<u64>, now_ns: u64) -> Due {
        Due {
            now_ns,
            after_ns: after_ns(interval_ns, has_ns, now_ns),
            point_ns: point_ns(interval_ns, now_ns),
            grid_ns: grid_ns(interval_ns),
        }
    }
}

impl Schedule {
    /// Somebody asks now, and no longer for what they asked for before. An end that is overdue to them is
    /// so still: who is late must not be later for being asked.
    pub fn ask(&mut self, asker: Asker, asked: Asked, now_ns: u64) {
        let is_overdue = |waiting: &Waiting| {
            waiting.asker == asker && (asked.after_ns..=now_ns).contains(&waiting.due_ns)
        };
        let overdue_ns = self.waiting.iter().find(|one| is_overdue(one)).map(|one| one.due_ns);
        let due_ns = overdue_ns.unwrap_or_else(|| point_ns(asked.interval_ns, now_ns));
        let waiting = Waiting { asker, after_ns: asked.after_ns, due_ns, then: asked.then() };
        self.leave(asker);
        match self.last_ns.filter(|&last_ns| last_ns >= asked.after_ns) {
            Some(last_ns) => self.waiting.extend(waiting.served(last_ns)),
            None => self.waiting.push(waiting),
        }
    }

    /// Somebody waits no longer.
    pub fn leave(&mut self, asker: Asker) {
        self.waiting.retain(|waiting| waiting.asker != asker);
    }

    /// A window ended then: who waited for it.
    pub fn ended(&mut self, at_ns: u64) -> Vec<Asker> {
        self.last_ns = Some(at_ns);
        let (served, waiting): (Vec<_>, Vec<_>) =
            self.waiting.drain(..).partition(|waiting| waiting.after_ns <= at_ns);
        self.waiting = waiting;
        self.waiting.extend(served.iter().filter_map(|waiting| waiting.served(at_ns)));
        served.iter().map(|waiting| waiting.asker).collect()
    }

    /// When the last one ended; `None`: none has.
    pub fn last_ns(&self) -> Option<u64> {
        self.last_ns
    }

    /// When the next is to end; `None`: nobody waits.
    pub fn due_ns(&self) -> Option<u64> {
        let due_ns = self.waiting.iter().map(|waiting| waiting.due_ns).min()?;
        Some(due_ns.max(self.last_ns.map_or(0, |last_ns| last_ns + SHORTEST_NS)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const S: u64 = 1_000_000_000;
    const MS: u64 = 1_000_000;

    /// Those who look at their own pace on a fixed beat, from some time on, for ten seconds: when
    /// windows ended, and for each of them which of these ends they got.
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
                (None, None) => panic!("somebody always asks or waits"),
            };
            if due_ns > 110 * S {
                return (all, theirs);
            }
            match ask {
                Some(n) => {
                    let interval_ns = Some(lookers[n].0);
                    let after_ns = after_ns(interval_ns, theirs[n].last().copied(), due_ns);
                    schedule.ask(n as u64, Asked { interval_ns, after_ns, ends: 1 }, due_ns);
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
                    // What it takes to show it, after which the beat goes on from the first end.
                    let begun = *beats[n].get_or_insert(due_ns.max(last_ns) + MS);
                    let passed = (due_ns.max(last_ns) + MS - begun) / lookers[n].0;
                    next[n] = begun + (passed + 1) * lookers[n].0;
                }
            }
        }
    }

    #[test]
    fn twenty_who_look_once_a_second_share_one_end_a_second() {
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
    fn whoever_looks_alone_has_windows_as_long_as_they_wait() {
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
    fn an_end_that_was_there_just_before_serves_too() {
        let mut schedule = Schedule::default();
        let ask = |schedule: &mut Schedule, asker, has_ns, now_ns| {
            let after_ns = after_ns(Some(S), has_ns, now_ns);
            schedule.ask(asker, Asked { interval_ns: Some(S), after_ns, ends: 1 }, now_ns);
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
    fn an_end_that_is_late_is_not_put_off_for_whoever_asks_for_it_meanwhile() {
        let mut schedule = Schedule::default();
        let asked = |after_ns| Asked { interval_ns: Some(S), after_ns, ends: 32 };
        schedule.ask(1, asked(10 * S), 10 * S);
        schedule.ended(10 * S);
        assert_eq!(schedule.due_ns(), Some(11 * S));
        // Nothing came; whoever waits for it asks after a while, and is served as soon as can be.
        schedule.ask(1, asked(11 * S - 50 * MS), 11 * S + 100 * MS);
        assert_eq!(schedule.due_ns(), Some(11 * S));
        assert_eq!(schedule.ended(11 * S + 150 * MS), [1]);
        assert_eq!(schedule.due_ns(), Some(12 * S), "and the pace is as it was");
        // Whoever wants a later one waits for that.
        schedule.ask(1, asked(12 * S + 80 * MS), 12 * S + 100 * MS);
        assert_eq!(schedule.due_ns(), Some(13 * S));
        schedule.ask(2, asked(12 * S + 80 * MS), 12 * S + 120 * MS);
        assert_eq!(schedule.due_ns(), Some(13 * S), "others have nothing overdue");
    }

    #[test]
    fn ends_that_were_asked_for_together_come_by_themselves() {
        let mut schedule = Schedule::default();
        let asked = |interval_ms, after_ns, ends| Asked {
            interval_ns: Some(interval_ms * MS),
            after_ns,
            ends,
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
        // What is there already is the first of them; a new question is instead of the one before.
        schedule.ask(1, asked(500, 11 * S, 9), 11 * S + 10 * MS);
        schedule.ask(1, asked(1000, 11 * S, 2), 11 * S + 20 * MS);
        assert_eq!(schedule.due_ns(), Some(12 * S));
        assert_eq!(schedule.ended(12 * S - 10 * MS), [0; 0], "that is not their point");
        assert_eq!(schedule.due_ns(), Some(12 * S + 90 * MS), "so soon after another none ends");
        assert_eq!(schedule.ended(12 * S + 90 * MS), [1]);
        assert_eq!(schedule.due_ns(), None);
    }

    proptest! {
        /// Whoever looks, there are at most ten ends a second, and nobody waits for ever.
        #[test]
        fn ends_are_bounded_and_everyone_is_served(
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
