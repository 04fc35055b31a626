//! Mutated inputs, as a proptest strategy: a failing one shrinks by leaving parts out.

use proptest::prelude::{Rng, RngExt};
use proptest::strategy::{NewTree, Strategy, ValueTree};
use proptest::test_runner::TestRunner;

/// Longest input, bytes; longer ones are truncated.
const LONGEST: usize = 64 << 10;

/// Texts that terminals, parsers and formats treat specially, and numbers at which counting fails.
const HOSTILE: &str = "\x1b[2J|\x1b]0;x\x07|\0|\n|\r|\t|\\|\"|'|(|)|%s|\u{202e}|\u{200b}|日本語|e\u{301}|\u{9b}|../../|\x7f| |=|\
    -0|1|-1|127|128|255|256|32768|65535|65536|2147483647|2147483648|-2147483648|4294967295|4294967296|9007199254740993|\
    9223372036854775807|9223372036854775808|-9223372036854775808|18446744073709551615|18446744073709551616|\
    1e308|-1e308|1e-308|1e999|inf|NaN|0x10|1_000|00000000000000000000000000000000001|0.1|.5|5.|+5";

/// The same, but not UTF-8.
const NO_TEXT: [&[u8]; 3] = [b"\xff", b"\xc0\x80", b"\xed\xa0\x80"];

/// Mutations of examples.
#[derive(Clone, Debug)]
pub struct Inputs {
    pub examples: Vec<Vec<u8>>,
    /// Words that the tested code knows.
    pub words: Vec<Vec<u8>>,
}

impl Strategy for Inputs {
    type Tree = Parts;
    type Value = Vec<u8>;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        Ok(Parts::new(self.mutated(runner.rng())))
    }
}

impl Inputs {
    fn mutated(&self, rng: &mut impl Rng) -> Vec<u8> {
        let mut input = pick(&self.examples, rng).to_vec();
        // Mostly a few changes, so that most of the structure stays; sometimes many.
        let most = if rng.random_ratio(1, 8) { 64 } else { 4 };
        for _ in 0..rng.random_range(1..=most) {
            self.change(&mut input, rng);
            input.truncate(LONGEST);
        }
        input
    }

    /// Inserts a piece, or replaces a part or all that follows by it.
    fn change(&self, input: &mut Vec<u8>, rng: &mut impl Rng) {
        let mut at = rng.random_range(0..=input.len());
        let piece = match rng.random_range(0..11) {
            0 => Vec::new(),
            1 => part(input, rng).to_vec(),
            2 => part(pick(&self.examples, rng), rng).to_vec(),
            3 => part(input, rng).repeat(1 << rng.random_range(0..10)),
            4 => pick(&self.words, rng).to_vec(),
            5 => pick(&NO_TEXT, rng).to_vec(),
            6 => HOSTILE.split('|').nth(rng.random_range(0..56)).unwrap_or("0").into(),
            7 => return with_byte(input, at, rng),
            8 => return binary(input, at, rng),
            _ => {
                // Replaces the digits at or behind this place by another number.
                at += input[at..].iter().position(u8::is_ascii_digit).unwrap_or(0);
                let digits = input[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                input.drain(at..at + digits);
                (rng.random::<u64>() >> rng.random_range(0..64)).to_string().into()
            }
        };
        let instead_of = match rng.random_range(0..8) {
            0 => input.len() - at,
            1..=3 => part(&input[at..], rng).len(),
            _ => 0,
        };
        input.splice(at..at + instead_of, piece);
    }
}

/// One of the elements; empty if there are none.
fn pick<'a>(of: &'a [impl AsRef<[u8]>], rng: &mut impl Rng) -> &'a [u8] {
    let Some(last) = of.len().checked_sub(1) else { return &[] };
    of[rng.random_range(0..=last)].as_ref()
}

/// A part; short ones are likelier.
fn part<'a>(of: &'a [u8], rng: &mut impl Rng) -> &'a [u8] {
    let from = rng.random_range(0..=of.len());
    let longest = (of.len() - from).min(1 << rng.random_range(0..12));
    &of[from..from + rng.random_range(0..=longest)]
}

fn with_byte(input: &mut [u8], at: usize, rng: &mut impl Rng) {
    let Some(byte) = input.get_mut(at) else { return };
    *byte = match rng.random_range(0..3) {
        0 => *byte ^ 1 << rng.random_range(0..8),
        1 => byte.wrapping_add(rng.random_range(0..9)).wrapping_sub(4),
        _ => rng.random(),
    };
}

/// Replaces bytes by a length, a count or a version, as in binary formats.
fn binary(input: &mut [u8], at: usize, rng: &mut impl Rng) {
    let value = match rng.random_range(0..3) {
        0 => u64::MAX - rng.random_range(0..4),
        1 => rng.random_range(0..64),
        _ => 1 << rng.random_range(0..64),
    };
    let width = 1 << rng.random_range(0..4);
    for (byte, new) in input.iter_mut().skip(at).zip(value.to_ne_bytes().into_iter().take(width)) {
        *byte = new;
    }
}

/// An input that shrinks: without a half, then a quarter, down to single bytes.
#[derive(Debug)]
pub struct Parts {
    input: Vec<u8>,
    /// The input before the last part was left out.
    before: Vec<u8>,
    at: usize,
    length: usize,
}

impl Parts {
    /// Starts with the whole input.
    pub fn new(input: Vec<u8>) -> Parts {
        Parts { length: input.len().div_ceil(2), before: Vec::new(), input, at: 0 }
    }
}

impl ValueTree for Parts {
    type Value = Vec<u8>;

    fn current(&self) -> Vec<u8> {
        self.input.clone()
    }

    fn simplify(&mut self) -> bool {
        if self.at >= self.input.len() {
            (self.at, self.length) = (0, self.length / 2);
        }
        if self.length == 0 || self.input.is_empty() {
            return false;
        }
        self.before.clone_from(&self.input);
        self.input.drain(self.at..(self.at + self.length).min(self.before.len()));
        true
    }

    fn complicate(&mut self) -> bool {
        if self.before.is_empty() {
            return false;
        }
        self.input = std::mem::take(&mut self.before);
        self.at += self.length;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::test_runner::{Config, RngSeed};
    use std::collections::HashSet;

    fn drawn(inputs: &Inputs, n: usize) -> Vec<Vec<u8>> {
        let config = Config { rng_seed: RngSeed::Fixed(7), ..Config::default() };
        let mut runner = TestRunner::new(config);
        (0..n).map(|_| inputs.new_tree(&mut runner).expect("a tree").current()).collect()
    }

    #[test]
    fn inputs_vary_stay_short_and_depend_on_the_seed() {
        let examples = vec![b"cpu 1 2 3".to_vec(), vec![]];
        let inputs = Inputs { examples, words: vec![b"intr".to_vec()] };
        let drawn_of = drawn(&inputs, 5_000);
        assert_eq!(drawn_of, drawn(&inputs, 5_000));
        assert!(drawn_of.iter().all(|input| input.len() <= LONGEST));
        assert!(drawn_of.iter().collect::<HashSet<_>>().len() > 2_500);
        let all = drawn_of.concat();
        for piece in HOSTILE.split('|').map(str::as_bytes).chain(NO_TEXT).chain([&b"intr"[..]]) {
            assert!(all.windows(piece.len()).any(|part| part == piece), "{piece:?} never");
        }
    }

    #[test]
    fn an_empty_input_is_mutated() {
        let nothing = Inputs { examples: Vec::new(), words: Vec::new() };
        assert!(drawn(&nothing, 100).iter().any(|input| !input.is_empty()));
    }
}
