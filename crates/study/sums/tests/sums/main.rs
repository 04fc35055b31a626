//! Sums over windows of a random machine, whose every nanosecond is known.

mod boots;
mod differences;
mod drawn;
mod exact;
mod moves;
mod pairs;
mod reports;
mod states;
mod workers;
