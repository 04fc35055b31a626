//! Losses of a window of on-demand programs, and the memory of their tables.

use serde::{Deserialize, Serialize};

/// Events and rows that a window lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Losses {
    /// Number of events without room in the tables.
    pub lost: u64,
    /// Number of program runs that the kernel skipped because the same program was running on that
    /// CPU. `None` if the kernel does not count them.
    pub skipped: Option<u64>,
    /// Waits without a seen begin, wake-up or end, and calls without a seen return. The programs
    /// count such a sleep or call up to the next seen event, and no time of such a wait for a CPU.
    pub unseen: u64,
    /// Memory of the tables, bytes, as the kernel reports it.
    pub tables_bytes: Option<u64>,
    /// Number of rows that a daemon's answer had no room for; these have the smallest figures.
    #[serde(default)]
    pub left_out: u64,
}

impl Losses {
    /// Adds the losses of the next window.
    pub(super) fn then(&mut self, later: &Losses) {
        self.lost += later.lost;
        self.unseen += later.unseen;
        self.skipped = self.skipped.zip(later.skipped).map(|(skipped, more)| skipped + more);
        self.tables_bytes = later.tables_bytes;
        self.left_out += later.left_out;
    }
}
