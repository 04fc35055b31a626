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
