//! Parts of reports: figures of repeats, charts, and the pages that hold both. It takes figures and
//! gives medians with intervals, charts as SVG, and pages as HTML, Markdown and text. Every crate
//! that writes a report or a benchmark may depend on it.
//!
//! [`statistics`] computes figures of repeats; [`plot`] draws charts and pages. All of it is pure.
#![forbid(unsafe_code)]

pub mod plot;
pub mod statistics;
