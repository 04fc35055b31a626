//! Windows as metrics of Prometheus and OpenTelemetry: cumulative counters since the daemon's
//! start. It takes windows and returns pages, reports, a server for the pages and a sender for the
//! reports. The command and the fleet's simulator may depend on it.
//!
//! The metrics cover the machine's accounts and groups of tasks. Their sums are exact at every
//! scrape.
//!
//! Windows come in through [`Metrics::advance`]; pages and reports go out through
//! [`Metrics::scrape`] and [`otlp`]. None of these does I/O. Only the server in [`http`] and the
//! sender in [`otlp`] do, each in a thread of its own. docs/reference/metrics.md describes every
//! family.
//!
//! The number of groups is bounded: the largest have a series of their own, and `~other` has the
//! time of all others (module `places`). No label is a PID, and the number of a label's values is
//! bounded.
//!
//! Modules: `accounts`, `places` (the groups with a series of their own, chosen by `candidates`), `blamed` (who had the CPU while groups waited),
//! `sized` (their waits by size), `last_window` (the last closed window, for scrapes), `metrics` (families; `exporting` those of
//! an export, `own` those of the daemon itself), `text` (Prometheus, OpenMetrics), `protobuf` (with native histograms), `otlp/` (reports
//! and their sender), `http/` (the page; `pulse` the probes).
#![forbid(unsafe_code)]

mod accounts;
mod blamed;
mod candidates;
mod clock;
mod degraded;
mod exporting;
mod family;
pub mod http;
mod last_window;
mod metrics;
pub mod otlp;
mod own;
mod places;
mod protobuf;
mod settings;
mod sized;
mod text;

pub use clock::Clock;
pub use exporting::Exporting;
pub use family::{Family, FamilyKind, Point, Unit, Value, WaitCounts};
pub use last_window::LastWindow;
pub use metrics::Metrics;
pub use own::{DaemonInfo, Process};
pub use settings::Settings;
pub use text::Format;
