//! Length and number of windows.

use super::parse;
use crate::failure::Failure;
use clap::Args;
use std::time::Duration;

/// Length and number of windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Length of a window.
    pub interval: Duration,
    /// Number of windows; `None`: until stopped.
    pub windows: Option<u64>,
}

impl Pace {
    /// Length of a window, ns.
    pub fn interval_ns(&self) -> u64 {
        u64::try_from(self.interval.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Length and number of windows as typed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Typed {
    /// Length of a window in seconds; `None`: not given.
    pub interval_s: Option<f64>,
    /// Number of windows; `None`: not given.
    pub windows: Option<u64>,
}

/// Arguments at the end of commands that show windows.
#[derive(Debug, Args)]
pub struct PaceArgs {
    /// The interval in seconds, as -d, and the number of windows, as -n
    #[arg(value_name = "INTERVAL|COUNT", allow_negative_numbers = true)]
    words: Vec<String>,
}

impl PaceArgs {
    /// Parses the arguments.
    ///
    /// # Errors
    /// The wrong argument, and the reason.
    pub fn resolve(&self) -> Result<Typed, Failure> {
        pace(&self.words)
    }
}

/// Parses `[interval [count]]`.
///
/// # Errors
/// The wrong argument, and the reason.
pub fn pace(words: &[String]) -> Result<Typed, Failure> {
    let wrong = |what, text: &String, why| Failure::usage(format!("{what} '{text}': {why}"));
    let interval_s = match words.first() {
        None => None,
        Some(text) => Some(parse::seconds(text).map_err(|why| wrong("interval", text, why))?),
    };
    let windows = match words.get(1) {
        None => None,
        Some(text) => match text.parse() {
            Ok(n) if n > 0 => Some(n),
            _ => return Err(wrong("count", text, "write how many windows, 1 or more".into())),
        },
    };
    match words.get(2) {
        None => Ok(Typed { interval_s, windows }),
        Some(more) => Err(Failure::usage(format!("'{more}' follows the count: leave it out"))),
    }
}

/// True if a word on the command line is meant as an interval or a count.
#[cfg_attr(not(feature = "bpf"), allow(dead_code))]
pub fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Typed, String> {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        pace(&words).map_err(|failure| match failure {
            Failure::Usage(why) => why,
            other => format!("{other:?}"),
        })
    }

    #[test]
    fn interval_and_count_are_read_or_refused() {
        assert_eq!(read(&[]), Ok(Typed::default()));
        let half = Typed { interval_s: Some(0.5), windows: Some(3) };
        assert_eq!(read(&["0.5", "3"]), Ok(half));
        for (words, part) in [
            (&["0"] as &[&str], "interval '0'"),
            (&["-1"], "interval '-1'"),
            (&["1", "0"], "count '0'"),
            (&["1", "x"], "count 'x'"),
            (&["1", "2", "3"], "'3'"),
        ] {
            let why = read(words).unwrap_err();
            assert!(why.contains(part), "{words:?}: {why}");
        }
        assert!(is_number("1") && is_number("-1") && is_number(".5") && !is_number("close"));
    }
}
