//! What several runs come to: medians, and intervals that assume nothing of how runs are spread.

use statrs::distribution::{Binomial, DiscreteCDF};

/// How sure an interval is.
pub const CONFIDENCE: f64 = 0.95;

/// The median; `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// An interval that holds the median of what the values were drawn from with at least 95 %
/// probability, by order statistics: each value lies below the median with probability 1/2, so how
/// many do is binomial. `None` of fewer than six values, where not even all of them suffice.
pub fn median_interval(values: &[f64]) -> Option<(f64, f64)> {
    let sorted = sorted(values);
    let n = sorted.len() as u64;
    let below = Binomial::new(0.5, n).ok()?;
    // The interval from the k-th smallest to the k-th largest misses when fewer than k lie on one
    // side.
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
    fn medians_are_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn intervals_are_those_of_the_tables() {
        let values = |n: u32| (1..=n).map(f64::from).collect::<Vec<_>>();
        assert_eq!(median_interval(&values(5)), None);
        assert_eq!(median_interval(&values(6)), Some((1.0, 6.0)));
        assert_eq!(median_interval(&values(9)), Some((2.0, 8.0)));
        assert_eq!(median_interval(&values(20)), Some((6.0, 15.0)));
    }

    #[test]
    fn an_interval_holds_the_median_often_enough() {
        // A generator that is the same each time; the median of what it draws is 1/2.
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
