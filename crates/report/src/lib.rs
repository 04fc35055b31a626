//! What reports are made of: figures of repeats, charts, and the pages that hold both.
//!
//! [`statistics`] takes figures of repeats and gives medians with intervals, and which of many figures differ beyond
//! noise. [`plot`] takes figures and gives charts as SVG, and pages as HTML, Markdown and text. All of it is pure. Crates
//! that write a report or a benchmark may depend on it.
#![forbid(unsafe_code)]

pub mod plot;
pub mod statistics;
