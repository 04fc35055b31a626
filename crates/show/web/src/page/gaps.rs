//! Time that is not recorded: each window of a recording may have a gap after it.

use serde::Serialize;
use std::cmp::Reverse;

/// Time that is not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Gap {
    pub from_us: i64,
    pub to_us: i64,
    pub why: &'static str,
}

#[derive(Debug)]
pub(crate) struct Gaps {
    kept: Vec<Gap>,
    most: usize,
    left_out: usize,
}

impl Gaps {
    /// Keeps at most this number.
    pub fn new(most: usize) -> Gaps {
        Gaps { kept: Vec::new(), most, left_out: 0 }
    }

    pub fn add(&mut self, gap: Gap) {
        self.kept.push(gap);
        if self.kept.len() > 2 * self.most {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        self.left_out += self.kept.len().saturating_sub(self.most);
        let length = |gap: &Gap| i128::from(gap.to_us) - i128::from(gap.from_us);
        self.kept.sort_by_key(|gap| (Reverse(length(gap)), gap.from_us));
        self.kept.truncate(self.most);
    }

    /// The gaps in the order of time, and the number of omitted ones.
    pub fn finish(mut self) -> (Vec<Gap>, usize) {
        self.shorten();
        self.kept.sort_by_key(|gap| (gap.from_us, gap.to_us));
        (self.kept, self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_gaps_are_kept_and_the_others_counted() {
        let mut gaps = Gaps::new(3);
        for from_us in 0..1000 {
            let length = if from_us % 300 == 0 { 50 } else { 1 };
            gaps.add(Gap { from_us, to_us: from_us + length, why: "no recorder ran" });
            assert!(gaps.kept.len() <= 6);
        }
        let (kept, left_out) = gaps.finish();
        let from: Vec<i64> = kept.iter().map(|gap| gap.from_us).collect();
        assert_eq!((from, left_out), (vec![0, 300, 600], 997));
    }
}
