//! One ledger of a machine for many readers, over a socket. It takes the snapshots of a source and gives them to
//! each reader; [`Remote`] is the reader's side and a source like any other. The command and the C library may
//! depend on it.
//!
//! [`Server`] has a socket: whoever connects gets what a recording holds
//! ([`stream`](exactop_recording::stream)), written once for all, and asks for window ends.
//! [`Remote`] is the other side: a [`Source`](exactop_sources::Source) like any other. Windows are
//! subtractions, so everyone can look as often as they like: [`schedule`] says when windows end so
//! that one end serves many, and [`Merged`](exactop_model::ledger::merged::Merged) makes one window of those
//! that others wanted to end in between.
//!
//! Programs that count only while somebody looks are attached once for all who do: a [`Looker`] asks
//! for their windows.
//!
//! Modules: `schedule` (when windows end, pure), `ask` (what a reader says), `server` (the socket, who reads;
//! `server/telling`: one story to many; `server/shares`: who is let in, pure; `server/following`: whose descendants
//! are numbered; `server/inside`: those of a PID namespace, whose `filter` is pure; `server/looking`: programs on
//! demand, once for all), `notices` (what is said of readers, and how often), `remote` (a daemon as a source, and
//! the next one where it ends; `remote/link`: which windows were asked for; `remote/connection`: the thread that
//! reads), `looker` (its programs on demand).
#![forbid(unsafe_code)]

pub mod ask;
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
pub use server::{now_ns, Attach, Server, Wanted};

/// Where the socket is unless someone says otherwise.
pub const SOCKET: &str = "/run/exactop/socket";
