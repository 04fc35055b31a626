//! A recording's windows into ClickHouse: the tables of `fleet/schema.sql`.
//!
//! At least once on the wire, exactly once in the table. Before a batch is sent the store is asked which of
//! its windows it has; what is sent carries a token (host, boot, the windows' own numbers) by which the store
//! knows a batch that comes a second time. A window's row of `accounts` is sent after its rows of `charges`, so
//! it says that all of the window is there.
//!
//! [`insert`] sends what is recorded of some time; an [`Exporter`] goes on with what somebody records (`following`), and
//! knows where it was (`cursor`).

pub(crate) mod address;
mod batch;
mod client;
mod courier;
mod cursor;
mod exporter;
mod following;
mod stock;

pub use crate::wire::Patience;
pub use address::{Address, Login, StoreError};
pub use client::Client;
pub use exporter::{Exporter, Log, Pace};
pub use following::{News, Status};

use crate::ExportError;
use courier::Courier;
use exactop_recording::{Recording, When, Windows};
use std::fmt;

/// What became of the windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Sent, and taken.
    pub windows: u64,
    /// The store had them.
    pub there: u64,
    /// Left out: the store has other windows of the same host and time.
    pub overlapping: u64,
    /// Left out: older than what the store keeps.
    pub old: u64,
}

impl Sent {
    fn add(&mut self, more: Sent) {
        self.windows += more.windows;
        self.there += more.there;
        self.overlapping += more.overlapping;
        self.old += more.old;
    }
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let windows = if self.windows == 1 { "window" } else { "windows" };
        write!(f, "{} {windows} sent", self.windows)?;
        let others = [
            (self.there, "were there already"),
            (self.overlapping, "left out: the store has others of the same time"),
            (self.old, "left out: older than the 7 days that the store keeps windows"),
        ];
        others
            .into_iter()
            .filter(|(n, _)| *n > 0)
            .try_for_each(|(n, what)| write!(f, ", {n} {what}"))
    }
}

/// What is sent, and where to.
#[derive(Clone, Copy, Debug)]
pub struct Sending<'a> {
    /// The store.
    pub client: &'a Client,
    /// Groups of a window that have a row of their own, beside `~other`.
    pub groups: usize,
    /// What the time is, ns since the epoch.
    pub now_ns: i128,
}

/// Sends the windows of a time. `sent` is told as it goes: what it says is in the store, whatever follows.
///
/// # Errors
/// [`ExportError`]: the recording cannot be read, or the store does not take it.
pub fn insert(
    recording: Recording,
    when: When,
    sending: &Sending,
    sent: &mut Sent,
) -> Result<(), ExportError> {
    let mut windows = Windows::of(recording, when)?;
    let mut courier = Courier::new(*sending);
    let done = all(&mut windows, &mut courier);
    *sent = courier.sent;
    done
}

fn all(windows: &mut Windows, courier: &mut Courier) -> Result<(), ExportError> {
    while windows.advance()? {
        courier.make_way(windows.replay())?;
        courier.put(windows.replay())?;
    }
    courier.deliver()
}
