//! A recording's windows into ClickHouse: the tables of `fleet/schema.sql`.
//!
//! At least once on the wire, exactly once in the table. Before a batch is sent the store is asked which of
//! its windows it has; what is sent carries a token (host, boot, the windows' own numbers) by which the store
//! knows a batch that comes a second time. A window's row of `accounts` is sent after its rows of `charges`, so
//! it says that all of the window is there.

mod address;
mod batch;
mod client;
mod stock;

pub use address::{Address, Login, StoreError};
pub use client::{Client, Patience};

use crate::charges::groups;
use crate::names::Names;
use crate::tables::Told;
use crate::ExportError;
use batch::{Batch, Whose};
use exactop_model::escape::escape_str;
use exactop_recording::{Recording, Replay, When, Windows};
use std::fmt;
use stock::{Place, Stock};

/// How long the store keeps what the stock is asked of: a window that is older would be taken for one that never
/// came, and be in the sums by minute and hour twice. An hour less than the tables' seven days.
const KEPT_NS: i128 = (7 * 24 - 1) * 3_600_000_000_000;
/// Windows of as much of CLOCK_MONOTONIC are a batch.
const BATCH_NS: u64 = 600_000_000_000;

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
#[derive(Debug)]
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
    let mut courier = Courier { sending, names: Names::default(), under_way: None, sent };
    while windows.advance()? {
        courier.window(windows.replay())?;
    }
    courier.deliver()
}

/// Gathers windows and sends them.
struct Courier<'a> {
    sending: &'a Sending<'a>,
    names: Names,
    under_way: Option<(Batch, Stock)>,
    sent: &'a mut Sent,
}

impl Courier<'_> {
    fn window(&mut self, replay: &Replay) -> Result<(), ExportError> {
        let Some((window, span)) = replay.window().zip(replay.span()) else { return Ok(()) };
        let machine = replay.reader().machine().ok_or(ExportError::Nameless)?;
        if self.sending.now_ns - span.wall_t1_ns() > KEPT_NS {
            self.sent.old += 1;
            return Ok(());
        }
        let whose =
            Whose { host: escape_str(&machine.host), boot_id: escape_str(&machine.boot_id) };
        let (t0_ns, t1_ns) = (window.t0_ns, window.t1_ns);
        let goes_on = |(batch, stock): &(Batch, Stock)| {
            batch.goes_on(&whose, t1_ns / BATCH_NS) && stock.knows(t0_ns)
        };
        if !self.under_way.as_ref().is_some_and(goes_on) {
            self.deliver()?;
            let slot = t1_ns / BATCH_NS;
            let (from, to) = (t0_ns.min(slot * BATCH_NS), (slot + 1) * BATCH_NS);
            let stock = Stock::ask(self.sending.client, &whose, from, to)?;
            self.under_way = Some((Batch::new(whose, slot)?, stock));
        }
        let Some((batch, stock)) = &mut self.under_way else { return Ok(()) };
        match stock.place(t0_ns, t1_ns) {
            Place::Taken => self.sent.there += 1,
            Place::Overlaps => self.sent.overlapping += 1,
            Place::Free { charged } => {
                let named = groups(window, replay.book(), self.sending.groups);
                let (host, boot_id) =
                    (Some(batch.whose.host.clone()), Some(batch.whose.boot_id.clone()));
                let (names, waiting, named) = (&self.names, &[][..], &named[..]);
                batch
                    .put(&Told { window, span, host, boot_id, names, waiting, named }, !charged)?;
            }
        }
        Ok(())
    }

    /// Sends what is under way.
    fn deliver(&mut self) -> Result<(), ExportError> {
        if let Some((batch, _)) = self.under_way.take() {
            self.sent.windows += batch.send(self.sending.client)?;
        }
        Ok(())
    }
}
