//! OpenTelemetry's protocol over HTTP: the same figures as the page, for a collector that does not scrape.
//!
//! All counters are cumulative with a beginning of their own, so a report that is lost loses nothing: the
//! next one has it all. Time is told in whole ns; what OpenTelemetry's conventions have in seconds
//! (`container.cpu.time`) is told beside it.

mod message;
mod sender;
mod wire;

pub use message::{request, Host};
pub use sender::{endpoint, OtlpError, Report, Sender, Status};
