//! For commands that print windows: in which form, and how many of them.

use super::parse;
use clap::Args;

/// In which form windows are printed, and how many there are.
#[derive(Clone, Debug, Args)]
pub struct PrintArgs {
    /// Text, one window after the other, without cursor movement
    #[arg(short, long)]
    pub batch: bool,
    /// One JSON object on one line for each window (docs/reference/json.md)
    #[arg(long)]
    pub json: bool,
    /// A header line, then a line for each row and window
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Exit after N windows; a single one is printed, not drawn
    #[arg(short = 'n', long, value_name = "N", value_parser = parse::windows, allow_hyphen_values = true)]
    iterations: Option<u64>,
    /// Short for -n 1: print one window, then exit
    #[arg(long, conflicts_with = "iterations")]
    once: bool,
    /// Show at most N rows in each table of text; sums are of all rows
    #[arg(long, value_name = "N", value_parser = parse::number::<usize>)]
    pub rows: Option<usize>,
}

impl PrintArgs {
    /// Number of windows; `None`: they go on until stopped.
    pub fn windows(&self) -> Option<u64> {
        match self.once {
            true => Some(1),
            false => self.iterations,
        }
    }

    /// Ends after this number of windows, unless an option says how many.
    pub fn or_windows(&mut self, count: Option<u64>) {
        self.iterations = self.windows().or(count);
    }

    /// True if windows are printed one after the other, never drawn over each other.
    pub fn is_plain(&self) -> bool {
        self.batch || self.json || self.csv || self.windows() == Some(1)
    }
}
