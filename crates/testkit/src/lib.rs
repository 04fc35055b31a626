//! A made-up machine for tests and for the demonstration of the live view. It tells snapshots as a
//! source does; frames come out of the real [`exactop_model::Book`]. And a real Prometheus to ask, how
//! tests wait, and ports.

mod feed;
mod machine;
mod on_request;
mod population;
mod port;
mod prometheus;
pub mod wait;

pub use exactop_model::ledger::samples;
pub use feed::{arranged, details, frame, window, Details, Made};
pub use machine::{snapshot, T0, WINDOW};
pub use population::{Process, EXITED, PROCESSES, SECOND};
pub use port::port;
pub use prometheus::Prometheus;
