//! Output of each format for a window.

mod formats;
mod formulas;
mod prstat;
