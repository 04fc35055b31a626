//! Windows as metrics of Prometheus and OpenTelemetry: cumulative counters since the daemon's start. It takes
//! windows and gives pages, reports, a server for the pages and a sender for the reports. The command and the
//! fleet's simulator may depend on it.
//!
//! The metrics are of the machine's accounts and of groups of tasks. Their sums are exact at every scrape.
//!
//! Windows come in ([`Metrics::advance`]), pages and reports go out ([`Metrics::scrape`], [`otlp`]). All of
//! that is pure; what speaks to others is the server in [`http`] and the sender in [`otlp`], each in a thread
//! of its own. docs/reference/metrics.md describes every family.
//!
//! Groups are bounded: the largest have a place and a series of their own, the time of all others is
//! `~other`'s (the module `places`). No label is a PID, and none grows without bound.
//!
//! Modules: `accounts`, `places` (who has a series of their own, by `candidates`), `last_window` (what closed last,
//! for whoever scrapes), `metrics` (families; `exporting` those of an export, `own` those of the daemon itself),
//! `text` (Prometheus, OpenMetrics), `otlp/` (reports and their sender), `http/` (the page; `pulse` the probes).
#![forbid(unsafe_code)]

mod accounts;
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
mod settings;
mod text;

pub use clock::Clock;
pub use degraded::Degraded;
pub use exporting::Exporting;
pub use family::{Family, Kind, Point, Unit, Value};
pub use last_window::LastWindow;
pub use metrics::Metrics;
pub use own::{Own, Process};
pub use settings::Settings;
pub use text::Format;
