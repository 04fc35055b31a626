//! The ledger's own figures: what a source measured at one instant, and what happened between two of them.

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
