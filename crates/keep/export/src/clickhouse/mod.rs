//! Sends a recording's windows to ClickHouse, into the tables of `crates/fleet/schema.sql`.
//!
//! Delivery is at least once, and each window is in the table exactly once. Before each batch the
//! store is asked which of its windows it has. A batch carries a token (host, boot, the windows'
//! own numbers), by which the store recognizes a batch that comes again. A window's row of
//! `accounts` is sent after its rows of `blame` and `charges`, so it marks the window as complete.
//!
//! [`insert`] sends the recorded windows of a time; [`crate::onward`] follows a log that is being
//! written.

pub(crate) mod address;
mod batch;
mod client;
pub(crate) mod courier;
mod stock;

pub use crate::carrier::SentCounts;
pub use crate::wire::Patience;
pub use address::{Address, Login, StoreError};
pub use client::Client;

use crate::carrier::Carrier;
use crate::ExportError;
use courier::Courier;
use exactop_recording::{Recording, TimeRange, Windows};

/// Destination and options.
#[derive(Clone, Copy, Debug)]
pub struct Sending<'a> {
    /// The store.
    pub client: &'a Client,
    /// Groups with their own row in a window, beside `~other`.
    pub groups: usize,
    /// Current time, ns since the epoch.
    pub now_ns: i128,
}

/// Sends the windows of a time. `sent` counts while it runs: what it counts is in the store, even
/// after an error.
///
/// # Errors
/// [`ExportError`]: the recording cannot be read, or the store does not accept a batch.
pub fn insert(
    recording: Recording,
    when: TimeRange,
    sending: &Sending,
    sent: &mut SentCounts,
) -> Result<(), ExportError> {
    let mut windows = Windows::from_recording(recording, when)?;
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
