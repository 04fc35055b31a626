//! Statistics of repeats: medians with intervals, and the figures that differ beyond noise. A
//! repeat is a trial, or some adjacent windows. It counts as one figure.

mod apart;
mod changed;

pub use apart::{apart, Separation, CONFIDENCE, FEWEST};
pub use changed::{changed, FEWEST_PAIRS};

use exactop_model::run::statistics::{median, median_interval};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Bootstrap samples.
const DRAWS: usize = 4_000;
/// Probability below and above a 95 % interval.
const TAIL: f64 = 0.025;

/// A median and its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Estimate {
    /// Number of repeats.
    pub n: usize,
    /// Their median.
    pub median: f64,
    /// The 95 % interval; `None` with fewer than six repeats.
    pub interval: Option<(f64, f64)>,
}

/// Median and 95 % interval of some repeats: the percentile bootstrap, widened to the interval of
/// the order statistics. With few repeats, the bootstrap interval alone contains the true median in
/// less than 95 % of cases.
pub fn estimate(values: &[f64], seed: u64) -> Option<Estimate> {
    let median = median(values)?;
    let interval = median_interval(values).map(|(low, high)| {
        let (from, to) = bootstrap(values, seed);
        (low.min(from), high.max(to))
    });
    Some(Estimate { n: values.len(), median, interval })
}

/// Percentiles of the medians of samples drawn with replacement.
fn bootstrap(values: &[f64], seed: u64) -> (f64, f64) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut medians: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let draw = |_| values[random.random_range(0..values.len())];
            let drawn: Vec<f64> = (0..values.len()).map(draw).collect();
            median(&drawn).unwrap_or(f64::NAN)
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    let at = |part: f64| medians[((DRAWS - 1) as f64 * part).round() as usize];
    (at(TAIL), at(1.0 - TAIL))
}

/// Median difference between two sets of repeats, drawn independently.
pub fn difference(a: &[f64], b: &[f64], seed: u64) -> Option<Estimate> {
    let between = median(a)? - median(b)?;
    let enough = median_interval(a).is_some() && median_interval(b).is_some();
    let mut random = StdRng::seed_from_u64(seed);
    let mut drawn = |values: &[f64]| {
        let draw = |_| values[random.random_range(0..values.len())];
        median(&(0..values.len()).map(draw).collect::<Vec<f64>>()).unwrap_or(f64::NAN)
    };
    let mut all: Vec<f64> = (0..DRAWS).map(|_| drawn(a) - drawn(b)).collect();
    all.sort_by(f64::total_cmp);
    let at = |part: f64| all[((DRAWS - 1) as f64 * part).round() as usize];
    let interval = enough.then(|| (at(TAIL), at(1.0 - TAIL)));
    Some(Estimate { n: a.len().min(b.len()), median: between, interval })
}

/// Smallest difference from a prediction that these repeats can show: half the interval's width.
pub fn detectable(estimate: &Estimate) -> Option<f64> {
    estimate.interval.map(|(low, high)| (high - low) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_holds_the_median_in_at_least_93_of_100() {
        let mut random = StdRng::seed_from_u64(1);
        // With seven repeats the bootstrap alone would hold it in 87 of 100.
        for n in [6, 7, 9] {
            let holds = (0..400)
                .filter(|&turn| {
                    let values: Vec<f64> = (0..n).map(|_| random.random::<f64>()).collect();
                    let (low, high) = estimate(&values, turn).unwrap().interval.unwrap();
                    low <= 0.5 && 0.5 <= high
                })
                .count();
            assert!(holds >= 372, "{holds} of 400 with {n} repeats");
        }
    }

    #[test]
    fn few_repeats_have_no_interval_and_none_nothing() {
        assert_eq!(estimate(&[], 0), None);
        assert_eq!(estimate(&[1.0; 5], 0).unwrap().interval, None);
        assert_eq!(estimate(&[1.0; 6], 0).unwrap().interval, Some((1.0, 1.0)));
    }

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let values: Vec<f64> = (0..20).map(|i| f64::from(i * i % 13)).collect();
        assert_eq!(estimate(&values, 7), estimate(&values, 7));
    }

    #[test]
    fn different_sets_are_distinguished_and_equal_ones_are_not() {
        let a: Vec<f64> = (0..20).map(|i| 10.0 + f64::from(i % 5) * 0.1).collect();
        let b: Vec<f64> = a.iter().map(|v| v + 1.0).collect();
        let (low, high) = difference(&b, &a, 3).unwrap().interval.unwrap();
        assert!(low > 0.5 && high < 1.5);
        let (low, high) = difference(&a, &a, 3).unwrap().interval.unwrap();
        assert!(low <= 0.0 && 0.0 <= high);
    }
}
