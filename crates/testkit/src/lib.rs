//! The kit of the tests: a simulated machine, waits for a state, ports, and a real Prometheus. It
//! takes the events that a test needs and returns snapshots like a source, so that frames come from
//! the real [`exactop_model::Book`]. Only tests may depend on it.

mod chdb;
mod feed;
mod layer;
mod machine;
mod on_request;
mod population;
mod port;
mod prometheus;
pub mod wait;

pub use chdb::Chdb;
pub use exactop_model::ledger::samples;
pub use feed::{arranged, details, frame, window, Details, Made};
pub use layer::not_forwarded;
pub use machine::{snapshot, T0, WINDOW};
pub use population::{Process, EXITED, PROCESSES, SECOND};
pub use port::port;
pub use prometheus::Prometheus;
