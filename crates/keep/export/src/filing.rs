//! Writes windows into files as they close. A batch is `blame-HOST_BOOT_FIRST.parquet`, then
//! `charges-...` and `accounts-...` in its day's directory. FIRST is the end of its first window,
//! CLOCK_MONOTONIC ns.
//!
//! Delivery is at least once, and each window is in the files exactly once. After an interruption,
//! writing resumes with the first window that is not known to be written. So a repeated batch has
//! the same name and replaces its files. `accounts` is written last: if it exists, the batch is
//! complete.

use crate::carrier::{Carrier, Label, SentCounts};
use crate::charges::groups;
use crate::days::{day_of, Files};
use crate::names::Names;
use crate::table::Table;
use crate::tables::{fields, TableName, WindowFacts};
use crate::{ExportError, Objects};
use exactop_files::Directory;
use exactop_model::text::escape::escape_str;
use exactop_recording::Replay;
use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

/// A file may hold windows of at least this much time, ns, however short the interval is.
const LEAST_NS: u64 = 600_000_000_000;

/// Destination of files.
#[derive(Debug)]
pub enum Shelf {
    /// Our directory, which others cannot write to. It is checked before each file and never
    /// created: if it is missing, a disk is not mounted.
    Here(PathBuf),
    /// A server.
    There(Box<Objects>),
}

impl Shelf {
    /// The destination in one line, without a login.
    pub(crate) fn display_name(&self) -> String {
        match self {
            Shelf::Here(path) => path.to_string_lossy().into_owned(),
            Shelf::There(objects) => objects.display_name().into(),
        }
    }

    fn put(&self, day: &str, name: &str, bytes: &[u8]) -> Result<(), ExportError> {
        match self {
            Shelf::Here(path) => (&Directory::ours(path)?).put(day, name, bytes),
            Shelf::There(objects) => Ok(objects.put(&format!("{day}/{name}"), bytes)?),
        }
    }

    fn has(&self, day: &str, name: &str) -> Result<bool, ExportError> {
        match self {
            Shelf::Here(path) => {
                let all = Directory::ours(path)?;
                Ok(all.has(day)? && all.within(day)?.has(name)?)
            }
            Shelf::There(objects) => Ok(objects.has(&format!("{day}/{name}"))?),
        }
    }
}

/// Gathers windows and writes them.
pub(crate) struct Filing<'a> {
    shelf: &'a Shelf,
    put: &'a RefCell<Put>,
    /// Groups with their own row in a window.
    groups: usize,
    /// Most time of windows in one file, ns.
    longest_ns: u64,
    names: Names,
    under_way: Option<Batch>,
    sent: SentCounts,
    batches: u64,
}

/// The tables of an unfinished batch that the receiver has. They outlast a [`Filing`], which ends
/// with a failure.
#[derive(Debug, Default)]
pub(crate) struct Put {
    label: Option<Label>,
    windows: u64,
    tables: usize,
}

/// Windows of one host, boot and day.
struct Batch {
    host: String,
    boot_id: String,
    label: Label,
    first_ns: u64,
    /// In the order of [`TableName::FLEET`].
    tables: Vec<Table>,
    windows: u64,
}

impl<'a> Filing<'a> {
    /// Writes new windows at the interval `every`.
    pub fn new(
        shelf: &'a Shelf,
        put: &'a RefCell<Put>,
        groups: usize,
        every: Duration,
    ) -> Filing<'a> {
        let every_ns = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
        // Twice the interval, so that one window too many does not start another file.
        let longest_ns = every_ns.max(LEAST_NS).saturating_mul(2);
        let (names, sent) = (Names::default(), SentCounts::default());
        Filing { shelf, put, groups, longest_ns, names, under_way: None, sent, batches: 0 }
    }
}

impl Carrier for Filing<'_> {
    fn set_now(&mut self, _: i128) {}

    fn goes_on(&self, replay: &Replay) -> Result<bool, ExportError> {
        let Some((batch, span)) = self.under_way.as_ref().zip(replay.span()) else {
            return Ok(false);
        };
        let machine = replay.reader().machine().ok_or(ExportError::Nameless)?;
        let same = batch.boot_id == machine.boot_id && batch.host == machine.host;
        let day = batch.label.day == day_of(span.wall_t1_ns());
        let full = batch.tables.iter().any(Table::is_long);
        let long = span.t1_ns.saturating_sub(batch.first_ns) >= self.longest_ns;
        Ok(same && day && !full && !long)
    }

    fn put(&mut self, replay: &Replay) -> Result<(), ExportError> {
        let Some((window, span)) = replay.window().zip(replay.span()) else { return Ok(()) };
        let batch = match &mut self.under_way {
            Some(batch) => batch,
            none => none.insert(Batch::beginning(replay)?),
        };
        let book = replay.book();
        let most = self.groups;
        let named = groups(window, book, most);
        let host = Some(escape_str(&batch.host));
        let boot_id = Some(escape_str(&batch.boot_id));
        let (names, waiting, named) = (&self.names, &[][..], &named[..]);
        let told = WindowFacts { window, book, span, host, boot_id, names, waiting, named, most };
        for (which, table) in TableName::FLEET.into_iter().zip(&mut batch.tables) {
            told.put(which, table)?;
        }
        batch.windows += 1;
        Ok(())
    }

    fn label(&self) -> Option<Label> {
        self.under_way.as_ref().map(|batch| batch.label.clone())
    }

    fn deliver(&mut self) -> Result<(), ExportError> {
        let Some(Batch { label, tables, windows, .. }) = self.under_way.take() else {
            return Ok(());
        };
        let mut put = self.put.borrow_mut();
        if (&put.label, put.windows) != (&Some(label.clone()), windows) {
            *put = Put { label: Some(label.clone()), windows, tables: 0 };
        }
        for (which, table) in TableName::FLEET.into_iter().zip(tables).skip(put.tables) {
            self.shelf.put(&label.day, &file(which, &label), &table.finish()?)?;
            put.tables += 1;
        }
        *put = Put::default();
        self.sent.windows += windows;
        self.batches += 1;
        Ok(())
    }

    fn was_taken(&self, label: &Label) -> Result<bool, ExportError> {
        let has = |which| self.shelf.has(&label.day, &file(which, label));
        if has(TableName::Accounts)? {
            return Ok(true);
        }
        for which in TableName::FLEET {
            if has(which)? {
                self.shelf.put(&label.day, &file(which, label), &table(which)?.finish()?)?;
            }
        }
        Ok(false)
    }

    fn sent(&self) -> SentCounts {
        self.sent
    }

    fn batches(&self) -> u64 {
        self.batches
    }
}

impl Batch {
    /// Starts a batch with the replay's current window, which is not added yet.
    fn beginning(replay: &Replay) -> Result<Batch, ExportError> {
        let machine = replay.reader().machine().ok_or(ExportError::Nameless)?;
        let span = replay.span().ok_or(ExportError::Nameless)?;
        let (host, boot_id) = (machine.host.clone(), machine.boot_id.clone());
        let label = Label::beginning(replay)?;
        let tables = TableName::FLEET.into_iter().map(table).collect::<Result<_, _>>()?;
        Ok(Batch { host, boot_id, label, first_ns: span.t1_ns, tables, windows: 0 })
    }
}

fn table(which: TableName) -> Result<Table, ExportError> {
    Table::new(which.name(), fields(which))
}

fn file(which: TableName, label: &Label) -> String {
    format!("{}-{}.parquet", which.name(), label.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_stays_within_its_directory() {
        let label = Label { day: "day=1".into(), name: "..".into() };
        assert_eq!(file(TableName::Accounts, &label), "accounts-...parquet");
    }
}
