//! Inputs made of others.

use rand::{Rng, RngExt};

/// Longer ones are cut.
const LONGEST: usize = 64 << 10;

/// Numbers at which counting goes wrong.
const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "127",
    "128",
    "255",
    "256",
    "32768",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "-1e308",
    "1e-308",
    "1e999",
    "inf",
    "NaN",
    "0x10",
    "1_000",
    "00000000000000000000000000000000001",
    "0.1",
    ".5",
    "5.",
    "+5",
];

/// What terminals, parsers and formats take for more than text.
const HOSTILE: &[&[u8]] = &[
    b"\x1b[2J",
    b"\x1b]0;x\x07",
    b"\0",
    b"\n",
    b"\r",
    b"\t",
    b"\\",
    b"\"",
    b"'",
    b"(",
    b")",
    b"%s",
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    "\u{202e}".as_bytes(),
    "\u{200b}".as_bytes(),
    "日本語".as_bytes(),
    "e\u{301}".as_bytes(),
    "\u{9b}".as_bytes(),
    b"../../",
    b"\x7f",
    b" ",
    b"=",
];

/// One new input from what there is.
pub fn mutated(pool: &[Vec<u8>], words: &[Vec<u8>], rng: &mut impl Rng) -> Vec<u8> {
    let mut input = pool.get(below(rng, pool.len())).cloned().unwrap_or_default();
    // Mostly a few changes, so that most of a structure stands; now and then many.
    let changes = match below(rng, 8) {
        0 => below(rng, 64) + 1,
        _ => below(rng, 4) + 1,
    };
    for _ in 0..changes {
        change(&mut input, pool, words, rng);
        input.truncate(LONGEST);
    }
    input
}

fn change(input: &mut Vec<u8>, pool: &[Vec<u8>], words: &[Vec<u8>], rng: &mut impl Rng) {
    let at = below(rng, input.len() + 1);
    match below(rng, 13) {
        0 => with_byte(input, at, |byte, r| byte ^ (1 << (r % 8)), rng),
        1 => with_byte(input, at, |_, r| r, rng),
        2 => with_byte(input, at, |byte, r| byte.wrapping_add(r % 9).wrapping_sub(4), rng),
        3 => drop(input.drain(at..end(input, at, rng))),
        4 => {
            let part = input[at..end(input, at, rng)].to_vec();
            let place = below(rng, input.len() + 1);
            insert(input, place, &part);
        }
        5 => input.truncate(at),
        6 => {
            let other = pool.get(below(rng, pool.len())).cloned().unwrap_or_default();
            let from = below(rng, other.len() + 1);
            let part = &other[from..end(&other, from, rng)];
            insert(input, at, part);
        }
        7 => {
            // The head of one, the tail of another.
            let other = pool.get(below(rng, pool.len())).cloned().unwrap_or_default();
            input.truncate(at);
            input.extend_from_slice(&other[below(rng, other.len() + 1)..]);
        }
        8 => insert(input, at, HOSTILE[below(rng, HOSTILE.len())]),
        9 => number(input, at, rng),
        10 => {
            let word = words.get(below(rng, words.len())).cloned().unwrap_or_default();
            insert(input, at, &word);
        }
        11 => binary(input, at, rng),
        _ => {
            let part = input[at..end(input, at, rng)].to_vec();
            let times = 1 << below(rng, 10);
            insert(input, at, &part.repeat(times.min(LONGEST / part.len().max(1))));
        }
    }
}

/// 0 where there is nothing to choose from.
fn below(rng: &mut impl Rng, n: usize) -> usize {
    if n == 0 {
        0
    } else {
        rng.random_range(0..n)
    }
}

/// The end of a part that begins at `at`: short ones are likelier.
fn end(input: &[u8], at: usize, rng: &mut impl Rng) -> usize {
    let longest = (input.len() - at).min(1 << below(rng, 12));
    at + below(rng, longest + 1)
}

fn insert(input: &mut Vec<u8>, at: usize, part: &[u8]) {
    input.splice(at..at, part.iter().copied());
}

fn with_byte(input: &mut [u8], at: usize, new: impl Fn(u8, u8) -> u8, rng: &mut impl Rng) {
    let random = rng.random();
    if let Some(byte) = input.get_mut(at) {
        *byte = new(*byte, random);
    }
}

/// Another number in the place of the digits at or behind `at`.
fn number(input: &mut Vec<u8>, at: usize, rng: &mut impl Rng) {
    let digit = |byte: &u8| byte.is_ascii_digit();
    let start = input[at..].iter().position(digit).map_or(at, |ahead| at + ahead);
    let length = input[start..].iter().take_while(|b| digit(b)).count();
    let new = match below(rng, 4) {
        0 => (rng.random::<u64>() >> below(rng, 64)).to_string(),
        _ => NUMBERS[below(rng, NUMBERS.len())].to_string(),
    };
    input.splice(start..start + length, new.into_bytes());
}

/// A length, a count or a version as binary formats have them, in the place of what is there.
fn binary(input: &mut [u8], at: usize, rng: &mut impl Rng) {
    let value = match below(rng, 3) {
        0 => u64::MAX - below(rng, 4) as u64,
        1 => below(rng, 64) as u64,
        _ => 1 << below(rng, 64),
    };
    let width = [1, 2, 4, 8][below(rng, 4)];
    for (byte, new) in input.iter_mut().skip(at).zip(value.to_ne_bytes().into_iter().take(width)) {
        *byte = new;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{rngs::SmallRng, SeedableRng};
    use std::collections::HashSet;

    #[test]
    fn inputs_differ_stay_short_and_are_the_same_for_the_same_seed() {
        let pool = [b"cpu 1 2 3".to_vec(), vec![]];
        let words = [b"intr".to_vec()];
        let draw = || {
            let mut rng = SmallRng::seed_from_u64(7);
            (0..5_000).map(|_| mutated(&pool, &words, &mut rng)).collect::<Vec<_>>()
        };
        let inputs = draw();
        assert_eq!(inputs, draw());
        assert!(inputs.iter().all(|input| input.len() <= LONGEST));
        assert!(inputs.iter().collect::<HashSet<_>>().len() > 2_500);
        assert!(inputs.iter().any(|input| input.windows(4).any(|part| part == b"intr")));
    }

    #[test]
    fn nothing_is_mutated_into_something() {
        let mut rng = SmallRng::seed_from_u64(7);
        assert!((0..100).any(|_| !mutated(&[], &[], &mut rng).is_empty()));
    }
}
