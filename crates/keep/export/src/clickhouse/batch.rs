//! A batch of windows that are sent together, and its deduplication token.

use super::client::Client;
use crate::table::{Field, Table};
use crate::tables::{fields, TableName, WindowFacts};
use crate::ExportError;

/// Host and boot of windows, escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostBoot {
    pub host: String,
    pub boot_id: String,
}

/// The rows of one table.
struct Part {
    which: TableName,
    table: Table,
    /// First and last window's end, CLOCK_MONOTONIC ns: the windows' numbers within the boot.
    seqs: Option<(u64, u64)>,
    windows: u64,
}

/// Windows of one host, boot and time slot.
pub(super) struct Batch {
    pub host_boot: HostBoot,
    slot: u64,
    /// In the order of [`TableName::FLEET`].
    parts: Vec<Part>,
}

impl Batch {
    pub fn new(host_boot: HostBoot, slot: u64) -> Result<Batch, ExportError> {
        let parts = TableName::FLEET.into_iter().map(Part::new).collect::<Result<_, _>>()?;
        Ok(Batch { host_boot, slot, parts })
    }

    /// True if a window of this host and slot fits into the batch.
    pub fn goes_on(&self, host_boot: &HostBoot, slot: u64) -> bool {
        // The store inserts a table's rows at once: all or none are there.
        let full = self.parts.iter().any(|part| part.table.is_long());
        !full && self.slot == slot && self.host_boot == *host_boot
    }

    /// Adds a window to the tables that lack it.
    pub fn put(&mut self, facts: &WindowFacts, there: &[TableName]) -> Result<(), ExportError> {
        let mut lacking = self.parts.iter_mut().filter(|part| !there.contains(&part.which));
        lacking.try_for_each(|part| part.put(facts))
    }

    /// Sends the batch; returns the number of its windows.
    pub fn send(self, client: &Client) -> Result<u64, ExportError> {
        let mut windows = 0;
        for part in self.parts {
            windows = part.windows;
            part.send(client, &self.host_boot)?;
        }
        Ok(windows)
    }
}

impl Part {
    fn new(which: TableName) -> Result<Part, ExportError> {
        let table = Table::new(which.name(), fields(which))?;
        Ok(Part { which, table, seqs: None, windows: 0 })
    }

    fn put(&mut self, facts: &WindowFacts) -> Result<(), ExportError> {
        let seq = facts.window.t1_ns;
        let (first, _) = self.seqs.unwrap_or((seq, seq));
        self.seqs = Some((first, seq));
        self.windows += 1;
        facts.put(self.which, &mut self.table)
    }

    fn send(self, client: &Client, host_boot: &HostBoot) -> Result<(), ExportError> {
        // Windows without a blame book have no rows of it.
        let Some(seqs) = self.seqs.filter(|_| !self.table.is_empty()) else { return Ok(()) };
        let token = token(host_boot, seqs, self.windows);
        let fields = fields(self.which);
        let columns: Vec<&str> = fields.iter().map(|Field { name, .. }| &**name).collect();
        client.insert(self.which.name(), &columns, &token, &self.table.finish()?)?;
        Ok(())
    }
}

/// Deduplication token, HOST:BOOT:FIRST-LAST/COUNT: first and last window and their number. The
/// number matters because windows that the store already has are left out.
fn token(host_boot: &HostBoot, (first, last): (u64, u64), windows: u64) -> String {
    format!("{}:{}:{first}-{last}/{windows}", host_boot.host, host_boot.boot_id)
}
