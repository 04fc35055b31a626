//! Sends a recording onward as its windows close. An [`Exporter`] reads the log (`following`) from
//! its `cursor` on, and a carrier delivers it to a store or into files.

mod cursor;
mod exporter;
mod following;

pub use exporter::{Destination, Exporter, Log, Pace};
pub use following::{News, Status};
