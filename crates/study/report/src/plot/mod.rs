//! Charts of reports and benchmarks, as self-contained SVG: lines, points with intervals,
//! predictions, strips by CPU, stacked areas and heat maps; and the pages that hold them.
//!
//! Everything here is pure: figures in, text out.

mod areas;
mod chart;
mod heat;
mod ink;
mod legend;
pub mod page;
mod strips;

pub use areas::{Areas, Whole};
pub use chart::{Axis, Chart, Mark, Point, Series};
pub use heat::{Cell, Heat};
pub use ink::{IRQ, OTHERS, PALE, STEAL, TASKS, UNNAMED};
pub use strips::{Piece, Strips};

use ink::colour;

/// A chart could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw '{title}': {why}")]
pub struct PlotError {
    /// Title of the chart.
    pub title: String,
    /// Error of the drawing library.
    pub why: String,
}

impl PlotError {
    fn new(title: &str, why: impl ToString) -> PlotError {
        PlotError { title: title.into(), why: why.to_string() }
    }
}

/// Instants beyond this are not drawn.
const FARTHEST: f64 = 1e15;

/// Range of an axis that shows these pieces; 0 to 1 if there is none.
fn range(stretches: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    let within = |(low, high): (f64, f64), (from, to): (f64, f64)| (low.min(from), high.max(to));
    let (from, to) = stretches.fold((f64::INFINITY, f64::NEG_INFINITY), within);
    let drawable = from.abs() <= FARTHEST && to.abs() <= FARTHEST;
    match drawable && to - from > 1e-9 * from.abs().max(1.0) {
        true => (from, to),
        false => (0.0, 1.0),
    }
}

/// Longest text in a drawing, characters.
const LONGEST: usize = 160;

/// Escapes a foreign text for a drawing: XML does not allow control characters.
fn label(text: &str) -> String {
    let text = exactop_model::text::escape::harmless(text);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The family that the drawing library writes; [`ink::themed`] replaces it.
const FONT: &str = "sans-serif";

/// A number with just enough decimals to differ from its neighbours `step` away.
fn number(value: f64, step: f64) -> String {
    let decimals = (-step.abs().max(1e-9).log10()).ceil().clamp(0.0, 6.0) as usize;
    let text = format!("{value:.decimals$}");
    // Avoid "-0".
    if text.trim_matches(['-', '0', '.']).is_empty() {
        text.replace('-', "")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_decimals_of_their_steps() {
        assert_eq!(number(0.25, 0.05), "0.25");
        assert_eq!(number(2000.0, 500.0), "2000");
        assert_eq!(number(-0.0, 0.1), "0.0");
    }
}
