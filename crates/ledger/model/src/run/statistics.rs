//! Statistics over several runs: medians, and confidence intervals that assume no distribution.

use statrs::distribution::{Binomial, DiscreteCDF};

/// Confidence level of an interval.
pub const CONFIDENCE: f64 = 0.95;

/// Median; `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// Confidence interval of the median with a level of at least 95 %, by order statistics. Each value
/// lies below the median with probability 1/2, so the number of such values is binomial. `None` for
/// fewer than six values: even their full range is not enough.
pub fn median_interval(values: &[f64]) -> Option<(f64, f64)> {
    let sorted = sorted(values);
    let n = sorted.len() as u64;
    let below = Binomial::new(0.5, n).ok()?;
    // The interval from the k-th smallest to the k-th largest value misses the median if fewer than
    // k values lie on one side.
    let misses = |k: u64| 2.0 * below.cdf(k - 1);
    let k = (1..=n / 2).take_while(|&k| misses(k) <= 1.0 - CONFIDENCE).last()?;
    let k = usize::try_from(k).ok()?;
    Some((sorted[k - 1], sorted[sorted.len() - k]))
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle_value() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn intervals_equal_published_tables() {
        let values = |n: u32| (1..=n).map(f64::from).collect::<Vec<_>>();
        assert_eq!(median_interval(&values(5)), None);
        assert_eq!(median_interval(&values(6)), Some((1.0, 6.0)));
        assert_eq!(median_interval(&values(9)), Some((2.0, 8.0)));
        assert_eq!(median_interval(&values(20)), Some((6.0, 15.0)));
    }

    #[test]
    fn an_interval_contains_the_median_at_its_level() {
        // A generator with a fixed seed; the median of its values is 1/2.
        let mut state = 1u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let held = (0..1000)
            .filter(|_| {
                let values: Vec<f64> = (0..15).map(|_| draw()).collect();
                median_interval(&values).is_some_and(|(low, high)| low <= 0.5 && 0.5 <= high)
            })
            .count();
        assert!(held >= 940, "{held} of 1000");
    }
}
