//! Carriers deliver windows: into a store ([`crate::clickhouse`]) or into files
//! ([`crate::filing`]).

use crate::days::day_of;
use crate::ExportError;
use exactop_recording::Replay;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Counts of windows by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentCounts {
    /// Sent and accepted.
    pub windows: u64,
    /// Already in the store.
    pub there: u64,
    /// Left out: the store has other windows of the same host and time.
    pub overlapping: u64,
    /// Left out: older than the store's retention.
    pub old: u64,
}

impl SentCounts {
    pub(crate) fn add(&mut self, more: SentCounts) {
        self.windows += more.windows;
        self.there += more.there;
        self.overlapping += more.overlapping;
        self.old += more.old;
    }
}

impl fmt::Display for SentCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let windows = if self.windows == 1 { "window" } else { "windows" };
        write!(f, "{} {windows} sent", self.windows)?;
        let others = [
            (self.there, "already in the store"),
            (self.overlapping, "left out: the store has others of the same time"),
            (self.old, "left out: older than the 7 days that the store keeps windows"),
        ];
        others
            .into_iter()
            .filter(|(n, _)| *n > 0)
            .try_for_each(|(n, what)| write!(f, ", {n} {what}"))
    }
}

/// Name of a batch. A file of it has the name, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Label {
    /// Directory of the day.
    pub day: String,
    /// Host, boot and first window.
    pub name: String,
}

impl Label {
    /// Label of a batch that begins with the replay's current window.
    pub fn beginning(replay: &Replay) -> Result<Label, ExportError> {
        let machine = replay.reader().machine().ok_or(ExportError::Nameless)?;
        let span = replay.span().ok_or(ExportError::Nameless)?;
        let name = format!("{}_{}_{}", plain(&machine.host), plain(&machine.boot_id), span.t1_ns);
        Ok(Label { day: day_of(span.wall_t1_ns()), name })
    }
}

/// Keeps only characters that are safe in file names and addresses. The rows hold the full names;
/// hosts whose masked names are equal still have different boots.
fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-.".contains(c) { c } else { '~' };
    name.chars().map(plain).take(80).collect()
}

/// Gathers windows into batches and delivers them.
pub(crate) trait Carrier {
    /// Sets the current time, ns since the epoch.
    fn set_now(&mut self, now_ns: i128);

    /// True if the replay's current window fits into the current batch.
    fn goes_on(&self, replay: &Replay) -> Result<bool, ExportError>;

    /// Adds the replay's current window to the batch.
    fn put(&mut self, replay: &Replay) -> Result<(), ExportError>;

    /// Name of the current batch.
    fn label(&self) -> Option<Label>;

    /// Delivers the current batch, table by table. After a failure a batch of the same windows goes on
    /// with the table that failed, so a receiver that never takes a whole batch gets it nevertheless.
    fn deliver(&mut self) -> Result<(), ExportError>;

    /// True if a batch was delivered whose result is unknown. The batch will not be sent again, so
    /// an incomplete one is emptied.
    fn was_taken(&self, label: &Label) -> Result<bool, ExportError>;

    /// Results so far.
    fn sent(&self) -> SentCounts;

    /// Batches delivered so far.
    fn batches(&self) -> u64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_safe_in_a_path() {
        assert_eq!(plain("web-1.example"), "web-1.example");
        assert_eq!(plain("../a b/\u{1b}\u{e4}_%"), "..~a~b~~~~~");
        assert_eq!(plain(&"x".repeat(300)).len(), 80);
    }
}
