//! Detail that a daemon dropped, in words.

use crate::ledger::provenance::Degraded;

/// Why a daemon drops detail.
pub const REASON: &str = "daemon at its memory bound";

/// Why it is unknown if a daemon dropped detail.
pub const UNKNOWN: &str = "an earlier version did not state it";

/// `history, exit rows, thread rows`; `None` where nothing is missing.
pub fn missing(degraded: Degraded) -> Option<String> {
    let words = degraded.names().map(|name| match name {
        "brief" => "exit rows",
        "threads" => "thread rows",
        other => other,
    });
    let words: Vec<&str> = words.collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// `Missing: history, exit rows (daemon at its memory bound)`; `None` where nothing is missing.
pub fn line(degraded: Option<Degraded>) -> Option<String> {
    let Some(degraded) = degraded else {
        return Some(format!("Missing: unknown ({UNKNOWN})"));
    };
    missing(degraded).map(|missing| format!("Missing: {missing} ({REASON})"))
}
