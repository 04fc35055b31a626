//! The live view end to end: the real program on the real machine in a real terminal, which is a
//! tmux(1) server of the test.
//!
//! Figures differ between runs; the invariants of every screen do not ([`screen`]).

mod at_once;
mod commands;
mod endings;
mod help;
#[path = "../helpers/mod.rs"]
mod helpers;
mod hostile;
mod incidents;
mod looking_back;
mod owed;
mod pages;
mod placing;
mod questions;
mod reader;
mod recording;
mod rights;
mod screen;
mod sizes;
mod sources;
mod typed_ahead;
