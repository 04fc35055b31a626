//! Sums over windows of a drawn machine, whose every nanosecond is known.

mod boots;
mod differences;
mod drawn;
mod exact;
mod moves;
mod reports;
mod states;
mod workers;
