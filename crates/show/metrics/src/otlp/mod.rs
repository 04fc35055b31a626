//! OpenTelemetry's protocol over HTTP: the figures of the page, for a collector that does not
//! scrape.
//!
//! All counters are cumulative and carry their start, so a lost report loses nothing: the next one
//! has it all. Time is sent in whole ns; `container.cpu.time`, which OpenTelemetry's conventions
//! define in seconds, is sent besides.

mod message;
mod sender;
mod wire;

pub use message::{request, Host};
pub use sender::{endpoint, OtlpError, Report, Sender, Status};
