//! Finds the figures that changed between two measurements of the same subjects by more than their
//! own variation explains.
//!
//! Without a change, both signs of a difference are equally likely. The test flips the signs of all
//! changes of a subject together, at random, many times. Each time it notes the largest change of
//! any figure, in units of that figure's standard error. It is the paired form of [`super::apart`],
//! with the same guarantee over all figures at once.

use super::apart::{Separation, CONFIDENCE, DEALS};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Fewest pairs: with seven, even the most one-sided change occurs by chance in 2 of 128 flips.
pub const FEWEST_PAIRS: usize = 8;

/// Tests the changes figure by figure, over the same subjects in the same order, at least
/// [`FEWEST_PAIRS`]; else `None`.
pub fn changed(figures: &[Vec<f64>], seed: u64) -> Option<Vec<Separation>> {
    let n = figures.first()?.len();
    if n < FEWEST_PAIRS || figures.iter().any(|figure| figure.len() != n) {
        return None;
    }
    let figures: Vec<Figure> =
        figures.iter().map(|changes| Figure::from_changes(changes)).collect();
    let mut turned = vec![1.0; n];
    let mut most = vec![largest(&figures, &turned)];
    let mut signs = Signs::new(n, seed);
    while signs.next(&mut turned) {
        most.push(largest(&figures, &turned));
    }
    most.sort_by(f64::total_cmp);
    let critical = most[(most.len() * CONFIDENCE as usize).div_ceil(100) - 1];
    let told = |figure: &Figure| {
        let difference = figure.sum(&vec![1.0; n]) / n as f64;
        let room = critical * figure.error(difference);
        let interval = critical.is_finite().then_some((difference - room, difference + room));
        let beyond = interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0);
        Separation { difference, interval, beyond }
    };
    Some(figures.iter().map(told).collect())
}

struct Figure<'a> {
    changes: &'a [f64],
    /// Sum of squares; independent of signs.
    squares: f64,
}

impl Figure<'_> {
    fn from_changes(changes: &[f64]) -> Figure<'_> {
        Figure { changes, squares: changes.iter().map(|change| change * change).sum() }
    }

    fn sum(&self, turned: &[f64]) -> f64 {
        self.changes.iter().zip(turned).map(|(change, sign)| change * sign).sum()
    }

    fn error(&self, mean: f64) -> f64 {
        let n = self.changes.len() as f64;
        let spread = (self.squares - n * mean * mean).max(0.0);
        // The spread of equal changes is a rounding error.
        let spread = if spread <= 1e-12 * self.squares { 0.0 } else { spread };
        (spread / (n - 1.0) / n).sqrt()
    }

    /// The mean in units of its standard error.
    fn statistic(&self, turned: &[f64]) -> f64 {
        let mean = self.sum(turned) / self.changes.len() as f64;
        match self.error(mean) {
            error if error > 0.0 => mean.abs() / error,
            _ if mean != 0.0 => f64::INFINITY,
            _ => 0.0,
        }
    }
}

fn largest(figures: &[Figure], turned: &[f64]) -> f64 {
    figures.iter().map(|figure| figure.statistic(turned)).fold(0.0, f64::max)
}

/// Signs: all combinations if they are few, else random ones. Flipping all signs gives the same
/// result, so `All` fixes the first sign.
enum Signs {
    All(u64, u64),
    Drawn(Box<StdRng>, usize),
}

impl Signs {
    fn new(n: usize, seed: u64) -> Signs {
        match 1_u64.checked_shl(n as u32 - 1).filter(|&all| all <= DEALS as u64) {
            Some(all) => Signs::All(1, all),
            None => Signs::Drawn(Box::new(StdRng::seed_from_u64(seed)), DEALS),
        }
    }

    /// Takes the next signs; returns false if there are no more.
    fn next(&mut self, turned: &mut [f64]) -> bool {
        match self {
            Signs::All(at, end) if *at < *end => {
                let signs = turned.iter_mut().skip(1).enumerate();
                signs
                    .for_each(|(bit, sign)| *sign = if (*at >> bit) & 1 == 1 { -1.0 } else { 1.0 });
                *at += 1;
                true
            }
            Signs::Drawn(random, left) if *left > 0 => {
                for signs in turned.chunks_mut(64) {
                    let bits: u64 = random.random();
                    let signs = signs.iter_mut().enumerate();
                    signs.for_each(|(at, sign)| {
                        *sign = if (bits >> at) & 1 == 1 { -1.0 } else { 1.0 };
                    });
                }
                *left -= 1;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changes of unchanged hosts: some figures vary, some hardly, one never.
    fn drawn(random: &mut StdRng, figures: usize, n: usize) -> Vec<Vec<f64>> {
        let one = |at: usize, random: &mut StdRng| match at % 3 {
            0 => random.random::<f64>() - random.random::<f64>(),
            1 => (random.random::<f64>() * 4.0).exp() - (random.random::<f64>() * 4.0).exp(),
            _ if at == 2 => 0.0,
            _ => f64::from(u8::from(random.random::<f64>() < 0.2)) * (random.random::<f64>() - 0.5),
        };
        (0..figures).map(|at| (0..n).map(|_| one(at, random)).collect()).collect()
    }

    #[test]
    fn unchanged_pairs_show_no_change_in_97_of_100() {
        let mut random = StdRng::seed_from_u64(1);
        for n in [8, 12] {
            let found = (0..100)
                .filter(|&turn| {
                    let changes = drawn(&mut random, 40, n);
                    changed(&changes, turn).unwrap().iter().any(|figure| figure.beyond)
                })
                .count();
            assert!(found <= 3, "{found} of 100 with {n} of them");
        }
    }

    #[test]
    fn a_change_is_found_and_is_in_its_interval() {
        let mut random = StdRng::seed_from_u64(2);
        // A change of one figure on all eight.
        for (n, by) in [(8, 10.0), (12, 5.0), (60, 1.0)] {
            let mut changes = drawn(&mut random, 40, n);
            changes[0].iter_mut().for_each(|change| *change += by);
            let found = changed(&changes, 7).unwrap();
            let beyond: Vec<usize> = (0..40).filter(|&at| found[at].beyond).collect();
            assert_eq!(beyond, [0], "{n}");
            let (low, high) = found[0].interval.unwrap();
            assert!(low < by && by < high && low > 0.0, "{n}: {low}..{high}");
            assert!(!found[2].beyond && found[2].interval == Some((0.0, 0.0)));
            assert_eq!(found, changed(&changes, 7).unwrap(), "the same seed, the same answer");
        }
    }

    #[test]
    fn few_say_nothing() {
        assert_eq!(changed(&[], 0), None);
        assert_eq!(changed(&[vec![1.0; 7]], 0), None);
        assert_eq!(changed(&[vec![1.0; 8], vec![1.0; 9]], 0), None);
        assert!(changed(&[vec![1.0; 8]], 0).unwrap()[0].beyond, "all by the same");
        assert!(!changed(&[vec![0.0; 8]], 0).unwrap()[0].beyond);
    }
}
