//! What the commands have in common that attach programs while they run: which processes, how
//! often, in which format.

use crate::failure::Failure;
use crate::options::parse;
use crate::output::Signals;
use crate::rights::{self, Role, Source};
use clap::Args;
use std::path::Path;
use std::time::{Duration, Instant};

/// Rows of text when nothing is said.
const ROWS: usize = 20;

/// Whom to look at, how often and in which format.
#[derive(Clone, Debug, Args)]
pub struct Look {
    /// Only these processes; separate by commas
    #[arg(short, long, value_name = "PID", value_delimiter = ',', value_parser = parse::pid, allow_hyphen_values = true)]
    pub pid: Vec<u32>,
    /// One JSON object on one line for each window (docs/json.md)
    #[arg(long)]
    pub json: bool,
    /// A header line, then a line for each row and window
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Rows of text in each table
    #[arg(short = 'n', long, value_name = "N", default_value_t = ROWS)]
    pub rows: usize,
}

/// How long a window is, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    interval: Duration,
    count: Option<u64>,
}

/// Reads `[interval [count]]`: windows of 1 s until stopped where nothing is said.
///
/// # Errors
/// What is wrong with which.
pub fn pace(numbers: &[String]) -> Result<Pace, Failure> {
    let wrong = |what, text: &String, why| Failure::usage(format!("{what} '{text}': {why}"));
    let interval = match numbers.first() {
        None => 1.0,
        Some(text) => parse::seconds(text).map_err(|why| wrong("interval", text, why))?,
    };
    let count = match numbers.get(1) {
        None => None,
        Some(text) => match text.parse() {
            Ok(n) if n > 0 => Some(n),
            _ => return Err(wrong("count", text, "write how many windows, 1 or more".into())),
        },
    };
    match numbers.get(2) {
        None => Ok(Pace { interval: Duration::from_secs_f64(interval), count }),
        Some(more) => Err(Failure::usage(format!("'{more}': nothing goes after the count"))),
    }
}

/// Whether a word on the command line is meant as interval or count.
#[cfg_attr(not(feature = "bpf"), allow(dead_code))]
pub fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.')
}

/// How one kind of window is taken and printed.
pub trait Windows {
    /// A window.
    type Window;
    /// Ends the window that is open.
    fn next(&mut self) -> Result<Self::Window, Failure>;
    /// For people.
    fn text(&self, window: &Self::Window, rows: usize) -> String;
    /// One line.
    fn json(&self, window: &Self::Window) -> String;
    /// The header line.
    fn csv_header(&self) -> Vec<u8>;
    /// A line for each row.
    fn csv(&self, window: &Self::Window) -> Vec<u8>;
}

impl Look {
    /// Processes that are asked for must be there.
    ///
    /// # Errors
    /// The first that is not.
    #[cfg_attr(not(feature = "bpf"), allow(dead_code))]
    pub fn check(&self) -> Result<(), Failure> {
        let gone = |pid: &&u32| !Path::new(&format!("/proc/{pid}")).exists();
        match self.pid.iter().find(gone) {
            Some(pid) => Err(Failure::failed(format!("no process {pid}"))),
            None => Ok(()),
        }
    }

    /// Prints windows until there were enough of them or a signal comes; what took them is given
    /// back.
    ///
    /// # Errors
    /// What failed, or the signal.
    pub fn show<W: Windows>(
        &self,
        pace: Pace,
        open: impl FnOnce() -> Result<W, Failure>,
    ) -> Result<W, Failure> {
        let signals = Signals::new()?;
        let mut windows = open()?;
        rights::reduce(Role::OnDemand, Source::Bpf, &[]);
        if self.csv {
            signals.write(&windows.csv_header())?;
        }
        let mut due = Instant::now();
        let mut left = pace.count;
        while left != Some(0) {
            due = (due + pace.interval).max(Instant::now());
            signals.sleep_until(due)?;
            let window = windows.next().map_err(|failure| signals.or(failure))?;
            let out = match () {
                () if self.json => windows.json(&window).into_bytes(),
                () if self.csv => windows.csv(&window),
                () => windows.text(&window, self.rows).into_bytes(),
            };
            signals.write(&out)?;
            left = left.map(|n| n - 1);
            if !self.json && !self.csv && left != Some(0) {
                signals.write(b"\n")?;
            }
        }
        Ok(windows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Pace, String> {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        pace(&words).map_err(|failure| match failure {
            Failure::Usage(why) => why,
            other => format!("{other:?}"),
        })
    }

    #[test]
    fn interval_and_count_are_read_or_refused() {
        let second = Duration::from_secs(1);
        assert_eq!(read(&[]), Ok(Pace { interval: second, count: None }));
        let half = Pace { interval: second / 2, count: Some(3) };
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
