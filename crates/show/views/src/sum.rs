//! Sums of figures, some of which may be unknown.

/// A sum that records whether a figure is missing in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    known: Option<u64>,
    lacks: bool,
}

impl Sum {
    /// One figure; `None`: unknown.
    pub fn new(figure: Option<u64>) -> Sum {
        Sum { known: figure, lacks: figure.is_none() }
    }

    /// Adds another sum.
    pub fn add(&mut self, other: Sum) {
        let both = self.known.zip(other.known).map(|(a, b)| a.saturating_add(b));
        self.known = both.or(self.known).or(other.known);
        self.lacks |= other.lacks;
    }

    /// The known part; `None`: nothing is known.
    pub fn known(self) -> Option<u64> {
        self.known
    }

    /// The mark after the figure: `+` if an unknown figure is missing in it.
    pub fn mark(self) -> char {
        match self.known.is_some() && self.lacks {
            true => '+',
            false => ' ',
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_says_that_it_lacks_something_and_none_is_not_zero() {
        let sum = |figures: &[Option<u64>]| {
            let mut sum = Sum::default();
            figures.iter().for_each(|&figure| sum.add(Sum::new(figure)));
            (sum.known(), sum.mark())
        };
        assert_eq!(sum(&[Some(2), Some(3)]), (Some(5), ' '));
        assert_eq!(sum(&[Some(2), None]), (Some(2), '+'));
        assert_eq!(sum(&[None, Some(0)]), (Some(0), '+'));
        assert_eq!(sum(&[None, None]), (None, ' '), "it is '-' as a whole");
        assert_eq!(sum(&[]), (None, ' '));
    }
}
