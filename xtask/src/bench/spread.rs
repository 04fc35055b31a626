//! Repeated measurements: median and range.

use serde_json::{json, Value};

/// Measurements in their order.
#[derive(Clone, Debug, Default)]
pub struct Spread(Vec<f64>);

impl Spread {
    pub fn add(&mut self, value: f64) {
        self.0.push(value);
    }

    /// All measurements in their order.
    pub fn all(&self) -> &[f64] {
        &self.0
    }

    /// The median: the middle value, or the mean of the two middle ones.
    pub fn median(&self) -> Option<f64> {
        let sorted = self.sorted();
        let middle = sorted.len() / 2;
        match sorted.len() {
            0 => None,
            n if n % 2 == 1 => Some(sorted[middle]),
            _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
        }
    }

    pub fn max(&self) -> Option<f64> {
        self.sorted().last().copied()
    }

    /// All values, changed by the same function.
    pub fn map(&self, change: impl Fn(f64) -> f64) -> Spread {
        self.0.iter().copied().map(change).collect()
    }

    /// Ratio of each value to its counterpart of the same round; if some are missing, the ratio of
    /// the medians.
    pub fn over(&self, other: &Spread) -> Spread {
        if self.0.len() == other.0.len() {
            return self.0.iter().zip(&other.0).map(|(a, b)| a / b).collect();
        }
        self.median().zip(other.median()).map(|(a, b)| a / b).into_iter().collect()
    }

    /// `median unit (min..max)`, or `missing`.
    pub fn text_in(&self, unit: &str, decimals: usize) -> String {
        let text = self.text(decimals);
        match text.split_once(' ') {
            Some((median, range)) => format!("{median} {unit} {range}"),
            None if self.0.is_empty() => text,
            None => format!("{text} {unit}"),
        }
    }

    /// `median (min..max)`, or `missing`.
    pub fn text(&self, decimals: usize) -> String {
        let (sorted, Some(median)) = (self.sorted(), self.median()) else {
            return "missing".into();
        };
        let (min, max) = (sorted[0], sorted[sorted.len() - 1]);
        match sorted.len() {
            1 => format!("{median:.decimals$}"),
            _ => format!("{median:.decimals$} ({min:.decimals$}..{max:.decimals$})"),
        }
    }

    /// Median, range and all values; `null`: none.
    pub fn json(&self) -> Value {
        let Some(median) = self.median() else { return Value::Null };
        let sorted = self.sorted();
        json!({
            "median": median,
            "min": sorted[0],
            "max": sorted[sorted.len() - 1],
            "values": self.0,
        })
    }

    fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }
}

impl FromIterator<f64> for Spread {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Spread {
        Spread(values.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_measured_is_missing_not_zero() {
        let none = Spread::default();
        assert_eq!(
            (none.median(), none.text(1), none.json()),
            (None, "missing".into(), Value::Null)
        );
    }

    #[test]
    fn the_median_and_the_range() {
        let spread: Spread = [4.0, 1.0, 3.0].into_iter().collect();
        assert_eq!(spread.text(1), "3.0 (1.0..4.0)");
        assert_eq!(spread.text_in("ms", 0), "3 ms (1..4)");
        let even: Spread = [4.0, 1.0].into_iter().collect();
        assert_eq!(even.median(), Some(2.5));
    }
}
