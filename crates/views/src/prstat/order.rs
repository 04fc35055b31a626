//! The order of rows and groups.

use super::{Key, Look};
use exactop_model::{Counter, Needs, Row};

/// What must be read of every row before they can be sorted.
pub(super) fn needs(key: Key) -> Needs {
    match key {
        Key::Cpu | Key::Pri => Needs::NONE,
        Key::Time | Key::Size => Needs::STAT,
        Key::Rss => Needs::STATM,
    }
}

/// What a row is sorted by; rows without it come as if it were nothing.
pub(super) fn key(look: &Look, row: &Row) -> f64 {
    let run = || row.delta.get(Counter::RunNs).unwrap_or(0) as f64;
    let detail = |detail: &Result<u64, _>| detail.unwrap_or(0) as f64;
    match look.key {
        Key::Cpu if look.microstates => run() / (row.life_ns.max(1)) as f64,
        Key::Cpu => run(),
        Key::Time => detail(&row.detail.time_ns),
        Key::Size => detail(&row.detail.virt),
        Key::Rss => detail(&row.detail.res),
        Key::Pri => f64::from(139 - row.ident.prio),
    }
}

/// Sorts; equals in the order of their numbers, so that lines do not jump.
pub(super) fn sort(look: &Look, rows: &mut [Row]) {
    rows.sort_by(|a, b| {
        let by_key = direction(look, key(look, a), key(look, b));
        by_key.then_with(|| (a.key.tgid, a.key.tid).cmp(&(b.key.tgid, b.key.tid)))
    });
}

/// Compares two keys in the direction that is asked for.
pub(super) fn direction(look: &Look, a: f64, b: f64) -> std::cmp::Ordering {
    match look.ascending {
        true => a.total_cmp(&b),
        false => b.total_cmp(&a),
    }
}
