//! Choices read from an input's bytes, for targets that need other inputs than bytes.

/// The rest of an input.
///
/// Once it is used up, every choice is the first, so a truncated input is still valid.
#[derive(Clone, Debug)]
pub struct Choices<'a> {
    left: &'a [u8],
}

impl<'a> Choices<'a> {
    /// Starts at an input's beginning.
    pub fn new(bytes: &'a [u8]) -> Choices<'a> {
        Choices { left: bytes }
    }

    /// True if the input is used up.
    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// The next byte; 0 at the end.
    pub fn byte(&mut self) -> u8 {
        match self.left.split_first() {
            Some((&byte, left)) => {
                self.left = left;
                byte
            }
            None => 0,
        }
    }

    /// The next `n` bytes, or as many as are left.
    pub fn bytes(&mut self, n: usize) -> &'a [u8] {
        let (bytes, left) = self.left.split_at(n.min(self.left.len()));
        self.left = left;
        bytes
    }

    /// A number of eight bytes.
    pub fn number(&mut self) -> u64 {
        (0..8).fold(0, |number, _| number << 8 | u64::from(self.byte()))
    }

    /// A number below `n`; `n` must not be 0.
    pub fn below(&mut self, n: usize) -> usize {
        let drawn = match n {
            0..=0x100 => u64::from(self.byte()),
            _ => self.number(),
        };
        (drawn % n as u64) as usize
    }

    /// True about once in `n` times.
    pub fn once_in(&mut self, n: u8) -> bool {
        self.byte() % n == n - 1
    }

    /// One of the elements.
    pub fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_follow_the_bytes_and_end_with_the_first() {
        let mut choices = Choices::new(&[7, 1, 2, 3]);
        assert_eq!(choices.below(4), 3);
        assert!(choices.once_in(2));
        assert_eq!(choices.bytes(5), [2, 3]);
        assert!(choices.is_empty());
        assert_eq!((choices.pick(&["a", "b"]), choices.below(1000)), (&"a", 0));
        assert!(!choices.once_in(2));
    }
}
