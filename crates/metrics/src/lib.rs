//! The ledger as metrics: cumulative counters since the daemon's start, of the machine's accounts and of
//! groups of tasks, whose sums are exact at every scrape.
//!
//! Windows come in ([`Metrics::advance`]), pages and reports go out ([`Metrics::scrape`], [`otlp`]). All of
//! that is pure; what speaks to others is the server in [`http`] and the sender in [`otlp`], each in a thread
//! of its own. docs/metrics.md describes every family.
//!
//! Groups are bounded: the largest have a place and a series of their own, the time of all others is
//! `~other`'s (the module `places`). No label is a PID, and none grows without bound.
#![forbid(unsafe_code)]

mod accounts;
mod candidates;
mod clock;
mod exporting;
mod family;
pub mod http;
mod last_window;
mod metrics;
pub mod otlp;
mod own;
mod places;
mod settings;
mod text;

pub use clock::Clock;
pub use exporting::Exporting;
pub use family::{Family, Kind, Point, Unit, Value};
pub use last_window::LastWindow;
pub use metrics::Metrics;
pub use own::{Own, Process};
pub use settings::Settings;
pub use text::Format;
