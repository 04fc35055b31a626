//! What the commands have in common that attach programs while they run: which processes, how
//! often, in which format.

use crate::failure::Failure;
use crate::options::pace::Pace;
use crate::options::parse;
use crate::output::Signals;
use crate::rights::{self, Origin, Role};
use clap::Args;
use std::fmt::Display;
use std::time::Instant;

/// Rows of text when nothing is said.
const ROWS: usize = 20;

/// Whom to look at, and in which format.
#[derive(Clone, Debug, Args)]
pub struct WindowArgs {
    /// Only these processes; separate by commas
    #[arg(short, long, value_name = "PID", value_delimiter = ',', value_parser = parse::pid, allow_hyphen_values = true)]
    pub pid: Vec<u32>,
    /// One JSON object on one line for each window (docs/json.md)
    #[arg(long)]
    json: bool,
    /// A header line, then a line for each row and window
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Rows of text in each table
    #[arg(short = 'n', long, value_name = "N", default_value_t = ROWS)]
    rows: usize,
}

/// How a window is written.
pub struct Forms<'a, W> {
    /// For people, with at most so many rows.
    pub text: &'a dyn Fn(&W, usize) -> String,
    /// One line.
    pub json: &'a dyn Fn(&W) -> String,
    /// The header line.
    pub csv_header: fn() -> Vec<u8>,
    /// A line for each row.
    pub csv: &'a dyn Fn(&W) -> Vec<u8>,
}

impl WindowArgs {
    /// Prints windows until there were enough of them or a signal comes.
    ///
    /// # Errors
    /// What failed, or the signal.
    pub fn show<S, W, E: Display>(
        &self,
        pace: Pace,
        open: impl FnOnce() -> Result<S, E>,
        mut next: impl FnMut(&mut S) -> Result<W, E>,
        forms: &Forms<W>,
    ) -> Result<(), Failure> {
        let signals = Signals::new()?;
        let mut source = open().map_err(Failure::failed)?;
        rights::reduce(Role::OnDemand, Origin::Bpf, &[]);
        if self.csv {
            signals.write(&(forms.csv_header)())?;
        }
        let mut due = Instant::now();
        let mut left = pace.windows;
        while left != Some(0) {
            due = (due + pace.interval).max(Instant::now());
            signals.sleep_until(due)?;
            let window = next(&mut source).map_err(|why| signals.or(Failure::failed(why)))?;
            let out = match () {
                () if self.json => (forms.json)(&window).into_bytes(),
                () if self.csv => (forms.csv)(&window),
                () => (forms.text)(&window, self.rows).into_bytes(),
            };
            signals.write(&out)?;
            left = left.map(|n| n - 1);
            if !self.json && !self.csv && left != Some(0) {
                signals.write(b"\n")?;
            }
        }
        Ok(())
    }
}
