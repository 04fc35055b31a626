//! Windows that are sent together, and the token by which the store knows them again.

use super::client::Client;
use crate::table::{Field, Table};
use crate::tables::{fields, Told, Which};
use crate::ExportError;

/// Whose windows they are, escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Whose {
    pub host: String,
    pub boot_id: String,
}

/// What is sent of one table.
struct Part {
    which: Which,
    table: Table,
    /// The windows' ends by CLOCK_MONOTONIC: their numbers within a boot.
    seqs: Option<(u64, u64)>,
    windows: u64,
}

/// Windows of one host, of one boot and one stretch of its clock.
pub(super) struct Batch {
    pub whose: Whose,
    slot: u64,
    /// In the order in which they are sent.
    parts: [Part; 2],
}

impl Batch {
    pub fn new(whose: Whose, slot: u64) -> Result<Batch, ExportError> {
        Ok(Batch { whose, slot, parts: [Part::new(Which::Charges)?, Part::new(Which::Accounts)?] })
    }

    /// Whether a window of that host and stretch goes with these.
    pub fn goes_on(&self, whose: &Whose, slot: u64) -> bool {
        // The store takes a table's rows at once, so that all are there or none.
        let full = self.parts.iter().any(|part| part.table.is_long());
        !full && self.slot == slot && self.whose == *whose
    }

    /// Adds a window, with its charges or without.
    pub fn put(&mut self, told: &Told, with_charges: bool) -> Result<(), ExportError> {
        let [charges, accounts] = &mut self.parts;
        if with_charges {
            charges.put(told)?;
        }
        accounts.put(told)
    }

    /// Sends it; how many windows it had.
    pub fn send(self, client: &Client) -> Result<u64, ExportError> {
        let Batch { whose, parts: [charges, accounts], .. } = self;
        let windows = accounts.windows;
        charges.send(client, &whose)?;
        accounts.send(client, &whose)?;
        Ok(windows)
    }
}

impl Part {
    fn new(which: Which) -> Result<Part, ExportError> {
        let table = Table::new(which.name(), fields(which))?;
        Ok(Part { which, table, seqs: None, windows: 0 })
    }

    fn put(&mut self, told: &Told) -> Result<(), ExportError> {
        let seq = told.window.t1_ns;
        let (first, _) = self.seqs.unwrap_or((seq, seq));
        self.seqs = Some((first, seq));
        self.windows += 1;
        told.put(self.which, &mut self.table)
    }

    fn send(self, client: &Client, whose: &Whose) -> Result<(), ExportError> {
        let Some(seqs) = self.seqs else { return Ok(()) };
        let token = token(whose, seqs, self.windows);
        let fields = fields(self.which);
        let columns: Vec<&str> = fields.iter().map(|Field { name, .. }| &**name).collect();
        client.insert(self.which.name(), &columns, &token, &self.table.finish()?)?;
        Ok(())
    }
}

/// HOST:BOOT:SEQ, where the numbers are the first and the last window's, and how many they are: windows that the
/// store has already are left out of a batch.
fn token(whose: &Whose, (first, last): (u64, u64), windows: u64) -> String {
    format!("{}:{}:{first}-{last}/{windows}", whose.host, whose.boot_id)
}
