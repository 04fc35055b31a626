//! What is counted only while someone looks, as text, JSON and CSV: one file a command.

mod losses;
pub mod moves;
pub mod syscalls;
pub mod waits;
pub mod wakeups;
