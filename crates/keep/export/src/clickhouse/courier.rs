//! Gathers windows into batches and leaves out those that the store already has.

use super::batch::{Batch, HostBoot};
use super::stock::{Stock, WindowSlot};
use super::Sending;
use crate::carrier::{Carrier, Label, SentCounts};
use crate::charges::groups;
use crate::names::Names;
use crate::tables::WindowFacts;
use crate::ExportError;
use exactop_model::text::escape::escape_str;
use exactop_recording::Replay;

/// Age up to which windows are sent, ns. The store deletes older ones and could not recognize them:
/// their sums by minute and hour would double. An hour less than the tables' seven days.
const KEPT_NS: i128 = (7 * 24 - 1) * 3_600_000_000_000;
/// Length of a batch on CLOCK_MONOTONIC, ns.
const BATCH_NS: u64 = 600_000_000_000;

/// Gathers windows and sends them.
pub(crate) struct Courier<'a> {
    sending: Sending<'a>,
    names: Names,
    under_way: Option<(Label, Batch, Stock)>,
    /// Results so far.
    sent: SentCounts,
    /// Batches in the store.
    batches: u64,
}

impl<'a> Courier<'a> {
    pub fn new(sending: Sending<'a>) -> Courier<'a> {
        let (names, sent) = (Names::default(), SentCounts::default());
        Courier { sending, names, under_way: None, sent, batches: 0 }
    }

    /// Host and boot of the replay's current window; `None` if there is no window, or it is too
    /// old.
    fn host_boot(&self, replay: &Replay) -> Result<Option<HostBoot>, ExportError> {
        let Some(ends_wall_ns) = replay.ends_wall_ns() else { return Ok(None) };
        let machine = replay.reader().machine().ok_or(ExportError::Nameless)?;
        let whose =
            HostBoot { host: escape_str(&machine.host), boot_id: escape_str(&machine.boot_id) };
        Ok((self.sending.now_ns - ends_wall_ns <= KEPT_NS).then_some(whose))
    }
}

impl Carrier for Courier<'_> {
    fn set_now(&mut self, now_ns: i128) {
        self.sending.now_ns = now_ns;
    }

    fn goes_on(&self, replay: &Replay) -> Result<bool, ExportError> {
        let (Some(window), Some(whose)) = (replay.window(), self.host_boot(replay)?) else {
            // The window will be left out.
            return Ok(true);
        };
        let slot = window.t1_ns / BATCH_NS;
        let goes_on = |(_, batch, stock): &(Label, Batch, Stock)| {
            batch.goes_on(&whose, slot) && stock.knows(window.t0_ns)
        };
        Ok(self.under_way.as_ref().is_some_and(goes_on))
    }

    fn put(&mut self, replay: &Replay) -> Result<(), ExportError> {
        let Some((window, span)) = replay.window().zip(replay.span()) else { return Ok(()) };
        let Some(whose) = self.host_boot(replay)? else {
            self.sent.old += 1;
            return Ok(());
        };
        let (t0_ns, t1_ns) = (window.t0_ns, window.t1_ns);
        if self.under_way.is_none() {
            let slot = t1_ns / BATCH_NS;
            let (from, to) = (t0_ns.min(slot * BATCH_NS), (slot + 1) * BATCH_NS);
            let stock = Stock::ask(self.sending.client, &whose, from, to)?;
            self.under_way = Some((Label::beginning(replay)?, Batch::new(whose, slot)?, stock));
        }
        let Some((_, batch, stock)) = &mut self.under_way else { return Ok(()) };
        match stock.place(t0_ns, t1_ns) {
            WindowSlot::Taken => self.sent.there += 1,
            WindowSlot::Overlaps => self.sent.overlapping += 1,
            WindowSlot::Free { there } => {
                let book = replay.book();
                let most = self.sending.groups;
                let named = groups(window, book, most);
                let (host, boot_id) =
                    (Some(batch.host_boot.host.clone()), Some(batch.host_boot.boot_id.clone()));
                let (names, waiting, named) = (&self.names, &[][..], &named[..]);
                let told =
                    WindowFacts { window, book, span, host, boot_id, names, waiting, named, most };
                batch.put(&told, &there)?;
            }
        }
        Ok(())
    }

    fn label(&self) -> Option<Label> {
        self.under_way.as_ref().map(|(label, ..)| label.clone())
    }

    fn deliver(&mut self) -> Result<(), ExportError> {
        if let Some((_, batch, _)) = self.under_way.take() {
            let windows = batch.send(self.sending.client)?;
            self.sent.windows += windows;
            self.batches += u64::from(windows > 0);
        }
        Ok(())
    }

    fn was_taken(&self, _: &Label) -> Result<bool, ExportError> {
        Ok(false)
    }

    fn sent(&self) -> SentCounts {
        self.sent
    }

    fn batches(&self) -> u64 {
        self.batches
    }
}
