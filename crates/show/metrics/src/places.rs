//! Groups with a series of their own, and the sum of all other groups.
//!
//! At any instant, for every figure: the groups with a place + `~other` + `~left` = all that was
//! ever counted. `~left` is the use of groups that lost their place, whose series has ended. In
//! `~other`, this use would make the counter jump. So include `~left` in sums of values, and
//! exclude it from rates.

use crate::candidates::Candidates;
use exactop_model::owner::Usage;
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// Time after which wanted CPU time counts half in the search for the largest groups, ns.
const HALF_LIFE_NS: f64 = 600e9;

/// A group takes another's place only if it is larger by this factor.
const LARGER: f64 = 2.0;

/// Time in which each place changes its group once at most, ns: an ended series still has a cost in
/// the store of metrics.
const TURNOVER_NS: f64 = 3600e9;

/// Number of watched groups without a place, for each group with one.
const WATCHED: usize = 4;

/// What is counted of a group.
pub(crate) trait Counted: Copy + Default {
    fn add(&mut self, more: &Self);
    /// Time by which groups are ranked, ns.
    fn demand_ns(&self) -> u128;
}

impl Counted for Usage {
    fn add(&mut self, more: &Usage) {
        Usage::add(self, more);
    }

    fn demand_ns(&self) -> u128 {
        Usage::demand_ns(self)
    }
}

/// Nanoseconds.
impl Counted for u128 {
    fn add(&mut self, more: &u128) {
        *self += more;
    }

    fn demand_ns(&self) -> u128 {
        *self
    }
}

/// A group's counters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Series<V> {
    pub total: V,
    /// Instant at which it was 0, ns.
    pub created_ns: u64,
    /// Windows that begin here or later count.
    counts_from_ns: u64,
    /// The CPU time that it wanted, weighted by age.
    score: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct Places<K, V> {
    /// Most groups with a place.
    groups: usize,
    /// Time that a new group stands at 0, ns.
    zero_for_ns: u64,
    placed: FxHashMap<K, Series<V>>,
    other: V,
    left: V,
    candidates: Candidates<K>,
    /// Number of groups that may lose their place now.
    changes: f64,
}

impl<K: Clone + Eq + Hash + Ord, V: Counted> Places<K, V> {
    pub fn new(groups: usize, zero_for_ns: u64) -> Places<K, V> {
        let candidates = Candidates::new(groups * WATCHED);
        let changes = groups as f64;
        let (other, left) = Default::default();
        Places {
            groups,
            zero_for_ns,
            placed: FxHashMap::default(),
            other,
            left,
            candidates,
            changes,
        }
    }

    /// Counts the figures of groups in a window.
    pub fn advance(&mut self, t0_ns: u64, t1_ns: u64, charges: FxHashMap<K, V>) {
        let length_ns = (t1_ns - t0_ns) as f64;
        let factor = (-length_ns / HALF_LIFE_NS).exp2();
        self.candidates.fade(factor);
        self.placed.values_mut().for_each(|series| series.score *= factor);
        let groups = self.groups as f64;
        self.changes = (self.changes + groups * length_ns / TURNOVER_NS).min(groups);
        for (labels, charge) in charges {
            let demand = charge.demand_ns() as f64;
            let Some(series) = self.placed.get_mut(&labels) else {
                self.other.add(&charge);
                self.candidates.add(labels, demand);
                continue;
            };
            series.score += demand;
            match t0_ns >= series.counts_from_ns {
                true => series.total.add(&charge),
                false => self.other.add(&charge),
            }
        }
        self.candidates.trim();
    }

    /// Prepares for a reader, at this boundary. The largest groups get their places: they are 0 on
    /// this page and count from now on.
    pub fn look(&mut self, at_ns: u64) {
        while self.placed.len() < self.groups {
            let Some((labels, score)) = self.candidates.take_largest() else { return };
            self.place(labels, score, at_ns);
        }
        while self.changes >= 1.0 {
            let Some((_, score)) = self.candidates.largest() else { return };
            let Some((weakest, theirs)) = self.weakest() else { return };
            if score <= theirs * LARGER {
                return;
            }
            if let Some((labels, score)) = self.candidates.take_largest() {
                self.give_up(&weakest);
                self.candidates.add(weakest, theirs);
                self.place(labels, score, at_ns);
                self.changes -= 1.0;
            }
        }
    }

    fn place(&mut self, labels: K, score: f64, at_ns: u64) {
        let counts_from_ns = at_ns.saturating_add(self.zero_for_ns);
        let total = V::default();
        self.placed.insert(labels, Series { total, created_ns: at_ns, counts_from_ns, score });
    }

    fn give_up(&mut self, labels: &K) {
        if let Some(series) = self.placed.remove(labels) {
            self.left.add(&series.total);
        }
    }

    fn weakest(&self) -> Option<(K, f64)> {
        let order = |a: &(&K, &Series<V>), b: &(&K, &Series<V>)| {
            a.1.score.total_cmp(&b.1.score).then(b.0.cmp(a.0))
        };
        let (labels, series) = self.placed.iter().min_by(order)?;
        Some((labels.clone(), series.score))
    }

    /// All groups with a place, by name, and the instants at which they were 0.
    pub fn series(&self) -> Vec<(K, V, u64)> {
        let of = |(labels, s): (&K, &Series<V>)| (labels.clone(), s.total, s.created_ns);
        let mut series: Vec<_> = self.placed.iter().map(of).collect();
        series.sort_by(|a, b| a.0.cmp(&b.0));
        series
    }

    /// `~other` and `~left`, which count from the start.
    pub fn rest(&self) -> [V; 2] {
        [self.other, self.left]
    }
}
