//! What is recorded goes on as windows close: an [`Exporter`] reads the log on (`following`) from where it was (`cursor`), and
//! has a carrier take it to a store or into files.

mod cursor;
mod exporter;
mod following;

pub use exporter::{Exporter, Log, Onto, Pace};
pub use following::{News, Status};
