//! Options for commands that print windows: format and number.

use super::parse;
use clap::Args;

/// Format and number of windows.
#[derive(Clone, Debug, Args)]
pub struct PrintArgs {
    /// Print text, one window after the other, without cursor movement
    #[arg(short, long)]
    pub batch: bool,
    /// Print one JSON object per window, each on one line (docs/reference/json.md)
    #[arg(long)]
    pub json: bool,
    /// Print a header line, then one line per row and window
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Exit after N windows; with 1 the window is printed, not drawn
    #[arg(short = 'n', long, value_name = "N", value_parser = parse::windows, allow_hyphen_values = true)]
    iterations: Option<u64>,
    /// Print one window, then exit: short for -n 1
    #[arg(long, conflicts_with = "iterations")]
    once: bool,
    /// Show at most N rows in each table of text; sums include all rows
    #[arg(long, value_name = "N", value_parser = parse::number::<usize>)]
    pub rows: Option<usize>,
}

impl PrintArgs {
    /// Number of windows; `None`: until stopped.
    pub fn windows(&self) -> Option<u64> {
        match self.once {
            true => Some(1),
            false => self.iterations,
        }
    }

    /// Sets the number of windows unless an option gave one.
    pub fn or_windows(&mut self, count: Option<u64>) {
        self.iterations = self.windows().or(count);
    }

    /// True if windows are printed one after the other, never drawn over each other.
    pub fn is_plain(&self) -> bool {
        self.batch || self.json || self.csv || self.windows() == Some(1)
    }
}
