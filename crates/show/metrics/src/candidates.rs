//! The largest groups among those without a place, in bounded memory.
//!
//! A Misra-Gries summary (Misra and Gries 1982; merged as in Agarwal et al., "Mergeable Summaries",
//! 2012): each figure is at most what the group wanted, and less by no more than the sum of all
//! groups divided by the table's size. So a crowd of names that come once never looks like one
//! large group.

use rustc_hash::FxHashMap;
use std::hash::Hash;

#[derive(Clone, Debug)]
pub(crate) struct Candidates<K> {
    size: usize,
    scores: FxHashMap<K, f64>,
}

impl<K: Clone + Eq + Hash + Ord> Candidates<K> {
    pub fn new(size: usize) -> Candidates<K> {
        Candidates { size, scores: FxHashMap::default() }
    }

    /// Scales down all figures.
    pub fn fade(&mut self, factor: f64) {
        self.scores.values_mut().for_each(|score| *score *= factor);
    }

    /// Adds to a group; the table may be too large until [`Candidates::trim`].
    pub fn add(&mut self, key: K, by: f64) {
        if by > 0.0 {
            *self.scores.entry(key).or_default() += by;
        }
    }

    /// Reduces the table to its size.
    pub fn trim(&mut self) {
        if self.scores.len() <= self.size {
            return;
        }
        let mut all: Vec<f64> = self.scores.values().copied().collect();
        let (_, next, _) = all.select_nth_unstable_by(self.size, |a, b| b.total_cmp(a));
        let next = *next;
        self.scores.retain(|_, score| {
            *score -= next;
            *score > 0.0
        });
        self.scores.shrink_to(self.size * 2);
    }

    /// Takes the largest group out.
    pub fn take_largest(&mut self) -> Option<(K, f64)> {
        let (key, score) = self.largest()?;
        let key = key.clone();
        self.scores.remove(&key);
        Some((key, score))
    }

    /// The largest group; of equals the first by name.
    pub fn largest(&self) -> Option<(&K, f64)> {
        let order = |(a, x): &(&K, &f64), (b, y): &(&K, &f64)| x.total_cmp(y).then(b.cmp(a));
        self.scores.iter().max_by(order).map(|(key, &score)| (key, score))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_of_single_names_hides_no_large_group() {
        let mut candidates = Candidates::new(10);
        for round in 0..100 {
            for name in 0..1000 {
                candidates.add(1 + round * 1000 + name, 1.0);
            }
            candidates.add(0, 200.0);
            candidates.trim();
            assert!(candidates.scores.len() <= 10);
        }
        let (&name, score) = candidates.largest().expect("there is one");
        assert_eq!(name, 0);
        let least = 20_000.0 - 120_000.0 / 11.0;
        assert!((least..=20_000.0).contains(&score), "{score}");
    }
}
