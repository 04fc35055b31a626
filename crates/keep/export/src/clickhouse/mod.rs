//! A recording's windows into ClickHouse: the tables of `crates/fleet/schema.sql`.
//!
//! At least once on the wire, exactly once in the table. Before a batch is sent the store is asked which of
//! its windows it has; what is sent carries a token (host, boot, the windows' own numbers) by which the store
//! knows a batch that comes a second time. A window's row of `accounts` is sent after its rows of `charges`, so
//! it says that all of the window is there.
//!
//! [`insert`] sends what is recorded of some time; [`crate::onward`] goes on with what somebody records.

pub(crate) mod address;
mod batch;
mod client;
pub(crate) mod courier;
mod stock;

pub use crate::carrier::Sent;
pub use crate::wire::Patience;
pub use address::{Address, Login, StoreError};
pub use client::Client;

use crate::carrier::Carrier;
use crate::ExportError;
use courier::Courier;
use exactop_recording::{Recording, When, Windows};

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
    *sent = courier.sent();
    done
}

fn all(windows: &mut Windows, courier: &mut Courier) -> Result<(), ExportError> {
    while windows.advance()? {
        if !courier.goes_on(windows.replay())? {
            courier.deliver()?;
        }
        courier.put(windows.replay())?;
    }
    courier.deliver()
}
