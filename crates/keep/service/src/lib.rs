//! One ledger of a machine for many readers, over a socket. It takes the snapshots of a source and
//! sends them to each reader. The command and the C library may depend on it.
//!
//! [`Server`] listens on a socket. Each reader gets a recording's bytes
//! ([`stream`](exactop_recording::stream)), encoded once for all readers, and asks for window ends.
//! [`Remote`] is the reader's side, a [`Source`](exactop_sources::Source) like any other. Each
//! reader may use its own interval, because a window is the difference of two snapshots.
//! [`schedule`] places window ends so that one end serves many readers.
//! [`Merged`](exactop_model::ledger::merged::Merged) joins the windows that ended for other readers
//! into one.
//!
//! On-demand programs count only while a reader displays them. The daemon attaches each kind once
//! for all readers; a [`Looker`] asks for their windows.
//!
//! Modules:
//!
//! - `schedule`, `beat`, `at_once`: when windows end; pure.
//! - `ask`: requests of a reader.
//! - `server`: the socket and its readers. In it, `telling` sends one stream to many readers;
//!   `shares` limits connections; `following` numbers the trees of commands; `inside` serves
//!   readers in a PID namespace, by its pure `filter`; `looking` runs on-demand programs.
//! - `notices`: the daemon's log of readers, rate limited.
//! - `remote`: a daemon as a source, and the next daemon when it ends. In it, `link` keeps the
//!   requests; `connection` is the thread that reads.
//! - `looker`: a daemon's on-demand programs.
#![forbid(unsafe_code)]

pub mod ask;
mod at_once;
pub mod beat;
mod error;
mod looker;
mod notices;
mod remote;
pub mod schedule;
mod server;
#[cfg(test)]
mod tests;

pub use error::ServiceError;
pub use looker::Looker;
pub use notices::Notice;
pub use remote::Remote;
pub use schedule::SHORTEST_NS;
pub use server::{now_ns, Attach, ReaderNeeds, Server};

/// Default path of the socket.
pub const SOCKET: &str = "/run/exactop/socket";
