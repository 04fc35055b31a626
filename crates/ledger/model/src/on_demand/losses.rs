//! What a window of programs attached on demand is missing, and what its tables take.

use serde::{Deserialize, Serialize};

/// What is missing, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Losses {
    /// Events for which the tables had no room.
    pub lost: u64,
    /// Runs of programs that the kernel skipped, because the same one was running on that CPU; `None`
    /// where the kernel does not tell.
    pub skipped: Option<u64>,
    /// Waits whose end came without a wake-up that was seen, and calls whose return was not: of waits
    /// and calls they count, up to the next that was seen.
    pub unseen: u64,
    /// Memory that the tables take, bytes, as the kernel tells it.
    pub tables_bytes: Option<u64>,
    /// Rows, those with least, for which a daemon's answer had no room.
    #[serde(default)]
    pub left_out: u64,
}

impl Losses {
    /// Goes on with what the window after it missed.
    pub(super) fn then(&mut self, later: &Losses) {
        self.lost += later.lost;
        self.unseen += later.unseen;
        self.skipped = self.skipped.zip(later.skipped).map(|(skipped, more)| skipped + more);
        self.tables_bytes = later.tables_bytes;
        self.left_out += later.left_out;
    }
}
