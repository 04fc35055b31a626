//! The ledger's own figures: a snapshot is what a source measured at one instant, a window the
//! change between two snapshots.

pub mod audit;
mod audited;
pub mod book;
pub(crate) mod books;
pub mod counters;
mod difference;
pub mod errors;
pub mod exactness;
mod group_names;
pub mod joined;
pub mod key;
pub mod merged;
pub mod named;
pub mod pooling;
pub mod provenance;
pub mod samples;
pub mod snapshot;
pub mod system;
pub mod window;
