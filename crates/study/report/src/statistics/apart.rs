//! Finds the figures that differ between two sides by more than their own variation explains.
//!
//! The test permutes the repeats of both sides at random many times. Each time it notes the largest
//! difference of any figure, in units of that figure's standard error. A figure differs beyond
//! noise if its difference exceeds 99 % of these. So for any number of figures, two equal sides
//! show a difference in any figure only once in a hundred times (the permutation of the largest
//! statistic: Westfall and Young, "Resampling-Based Multiple Testing").

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::SeedableRng;

/// Confidence of all intervals together, per cent.
pub const CONFIDENCE: u32 = 99;
/// Fewest repeats on a side.
pub const FEWEST: usize = 6;
/// Number of permutations.
pub(crate) const DEALS: usize = 2_000;

/// Difference of one figure between two sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Separation {
    /// Mean of the second side minus that of the first.
    pub difference: f64,
    /// Confidence interval of the difference; `None` if it is unbounded.
    pub interval: Option<(f64, f64)>,
    /// True if the difference exceeds noise.
    pub beyond: bool,
}

/// Sums of one figure on one side.
#[derive(Clone, Copy, Default)]
struct Side {
    n: f64,
    sum: f64,
    squares: f64,
}

impl Side {
    fn take(&mut self, value: f64) {
        self.n += 1.0;
        self.sum += value;
        self.squares += value * value;
    }

    fn mean(&self) -> f64 {
        self.sum / self.n
    }

    /// Squared standard error of the mean.
    fn error(&self) -> f64 {
        let spread = (self.squares - self.sum * self.sum / self.n).max(0.0);
        // The spread of equal figures is a rounding error.
        let rounding = 1e-12 * self.squares;
        let spread = if spread <= rounding { 0.0 } else { spread };
        spread / (self.n - 1.0) / self.n
    }
}

/// Compares two sides figure by figure. All figures must have the same repeats, at least `FEWEST`
/// on each side; else `None`.
pub fn apart(figures: &[(Vec<f64>, Vec<f64>)], seed: u64) -> Option<Vec<Separation>> {
    let (first, second) = figures.first().map(|(a, b)| (a.len(), b.len()))?;
    let same = |(a, b): &(Vec<f64>, Vec<f64>)| a.len() == first && b.len() == second;
    if first < FEWEST || second < FEWEST || !figures.iter().all(same) {
        return None;
    }
    // Centre each figure, so that its squares keep their digits.
    let pooled: Vec<Vec<f64>> = figures.iter().map(|(a, b)| centred(a, b)).collect();
    let mut order: Vec<bool> = (0..first + second).map(|at| at >= first).collect();
    let seen: Vec<(f64, f64)> = pooled.iter().map(|figure| statistic(figure, &order)).collect();
    let mut random = StdRng::seed_from_u64(seed);
    let mut most: Vec<f64> = vec![largest(&pooled, &order)];
    for _ in 0..DEALS {
        order.shuffle(&mut random);
        most.push(largest(&pooled, &order));
    }
    most.sort_by(f64::total_cmp);
    let at = (most.len() * CONFIDENCE as usize).div_ceil(100) - 1;
    let critical = most[at];
    let told = |(difference, error): (f64, f64)| {
        let room = critical * error;
        let interval = critical.is_finite().then_some((difference - room, difference + room));
        let beyond = interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0);
        Separation { difference, interval, beyond }
    };
    Some(seen.into_iter().map(told).collect())
}

fn centred(a: &[f64], b: &[f64]) -> Vec<f64> {
    let all = || a.iter().chain(b);
    let mean = all().sum::<f64>() / (a.len() + b.len()) as f64;
    all().map(|value| value - mean).collect()
}

/// Difference of the means, and its standard error (Welch).
fn statistic(values: &[f64], second: &[bool]) -> (f64, f64) {
    let mut sides = [Side::default(); 2];
    for (&value, &second) in values.iter().zip(second) {
        sides[usize::from(second)].take(value);
    }
    let [a, b] = sides;
    (b.mean() - a.mean(), (a.error() + b.error()).sqrt())
}

fn largest(figures: &[Vec<f64>], second: &[bool]) -> f64 {
    let of = |figure: &Vec<f64>| match statistic(figure, second) {
        (difference, error) if error > 0.0 => difference.abs() / error,
        (difference, _) if difference.abs() > 1e-12 * scale(figure) => f64::INFINITY,
        _ => 0.0,
    };
    figures.iter().map(of).fold(0.0, f64::max)
}

/// Largest absolute value, to which rounding errors are relative.
fn scale(figure: &[f64]) -> f64 {
    figure.iter().fold(0.0, |most: f64, value| most.max(value.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    /// Random figures like CPU times: some steady, some intermittent, one constant.
    fn drawn(random: &mut StdRng, figures: usize, n: usize) -> Vec<Vec<f64>> {
        let one = |at: usize, random: &mut StdRng| match at % 3 {
            0 => 50.0 + random.random::<f64>(),
            1 => (random.random::<f64>() * 4.0).exp(),
            _ if at == 2 => 7.0,
            _ => f64::from(u8::from(random.random::<f64>() < 0.2)) * random.random::<f64>(),
        };
        (0..figures).map(|at| (0..n).map(|_| one(at, random)).collect()).collect()
    }

    #[test]
    fn equal_sides_show_no_difference_in_97_of_100() {
        let mut random = StdRng::seed_from_u64(1);
        for n in [6, 15] {
            let found = (0..200)
                .filter(|&turn| {
                    let (a, b) = (drawn(&mut random, 40, n), drawn(&mut random, 40, n));
                    let sides: Vec<_> = a.into_iter().zip(b).collect();
                    apart(&sides, turn).unwrap().iter().any(|figure| figure.beyond)
                })
                .count();
            assert!(found <= 6, "{found} of 200 with {n} repeats");
        }
    }

    #[test]
    fn a_difference_is_found_and_is_in_its_interval() {
        let mut random = StdRng::seed_from_u64(2);
        let (a, mut b) = (drawn(&mut random, 40, 20), drawn(&mut random, 40, 20));
        b[0].iter_mut().for_each(|value| *value += 10.0);
        b[2].iter_mut().for_each(|value| *value += 1.0);
        let sides: Vec<_> = a.into_iter().zip(b).collect();
        let found = apart(&sides, 7).unwrap();
        let beyond: Vec<usize> = (0..40).filter(|&at| found[at].beyond).collect();
        assert_eq!(beyond, [0, 2]);
        let (low, high) = found[0].interval.unwrap();
        assert!(low < 10.0 && 10.0 < high && high - low < 2.0, "{low}..{high}");
        assert_eq!(found[2].interval, Some((1.0, 1.0)), "the same always, then another");
        assert_eq!(found, apart(&sides, 7).unwrap(), "the same seed, the same answer");
    }

    #[test]
    fn few_repeats_say_nothing() {
        assert_eq!(apart(&[], 0), None);
        assert_eq!(apart(&[(vec![1.0; 5], vec![2.0; 9])], 0), None);
        let same = apart(&[(vec![3.0; 6], vec![3.0; 6])], 0).unwrap();
        assert!(!same[0].beyond && same[0].difference == 0.0);
    }
}
