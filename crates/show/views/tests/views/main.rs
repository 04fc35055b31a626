//! What each format prints of a window.

mod formats;
mod formulas;
mod prstat;
