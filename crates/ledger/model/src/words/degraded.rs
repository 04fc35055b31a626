//! Detail that a daemon dropped, in words.

use crate::ledger::provenance::Degraded;

/// Why a daemon drops detail.
pub const REASON: &str = "daemon at its memory bound";

/// `history, brief rows, thread rows`; `None` where nothing is missing.
pub fn missing(degraded: Degraded) -> Option<String> {
    let words = degraded.names().map(|name| match name {
        "brief" => "brief rows",
        "threads" => "thread rows",
        other => other,
    });
    let words: Vec<&str> = words.collect();
    (!words.is_empty()).then(|| words.join(", "))
}
