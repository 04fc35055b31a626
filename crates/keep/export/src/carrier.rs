//! Who takes windows on: into a store ([`crate::clickhouse`]) or into files ([`crate::filing`]).

use crate::ExportError;
use exactop_recording::Replay;
use serde::{Deserialize, Serialize};
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
    pub(crate) fn add(&mut self, more: Sent) {
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

/// What a batch that goes into files is called there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Label {
    /// The directory of the day.
    pub day: String,
    /// Host, boot and first window.
    pub name: String,
}

/// Gathers windows into batches and delivers these.
pub(crate) trait Carrier {
    /// What the time is by now, ns since the epoch.
    fn set_now(&mut self, now_ns: i128);

    /// Whether the window at which a replay is goes with those that are under way.
    fn goes_on(&self, replay: &Replay) -> Result<bool, ExportError>;

    /// Takes the window at which a replay is, for which there is room by now.
    fn put(&mut self, replay: &Replay) -> Result<(), ExportError>;

    /// What those under way are called; `None`: whoever gets them can be asked what is there.
    fn label(&self) -> Option<Label>;

    /// Delivers what is under way.
    fn deliver(&mut self) -> Result<(), ExportError>;

    /// Whether a batch of which nobody heard whether it was taken is there. It will not come again: what is there
    /// of one that is not counts for nothing from now on.
    fn was_taken(&self, label: &Label) -> Result<bool, ExportError>;

    /// What became of those that were delivered or left out.
    fn sent(&self) -> Sent;

    /// Batches that were delivered.
    fn batches(&self) -> u64;
}
