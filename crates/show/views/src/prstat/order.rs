//! The order of rows and groups.

use super::{Order, ReportStyle};
use exactop_model::{Counter, Needs, Row};

/// Figures that every row needs for sorting.
pub(super) fn needs(key: Order) -> Needs {
    match key {
        Order::Cpu | Order::Pri => Needs::NONE,
        Order::Time | Order::Size => Needs::STAT,
        Order::Rss => Needs::STATM,
    }
}

/// The sort key of a row; a missing figure sorts as 0.
pub(super) fn key(style: &ReportStyle, row: &Row) -> f64 {
    let run = || row.delta.get(Counter::RunNs).unwrap_or(0) as f64;
    let detail = |detail: &Result<u64, _>| detail.unwrap_or(0) as f64;
    match style.key {
        Order::Cpu if style.microstates => run() / (row.life_ns.max(1)) as f64,
        Order::Cpu => run(),
        Order::Time => detail(&row.detail.time_ns),
        Order::Size => detail(&row.detail.virt),
        Order::Rss => detail(&row.detail.res),
        Order::Pri => f64::from(139 - row.ident.prio),
    }
}

/// Sorts rows; equal rows keep the order of their numbers, so that lines do not jump.
pub(super) fn sort(style: &ReportStyle, rows: &mut [Row]) {
    rows.sort_by(|a, b| {
        let by_key = direction(style, key(style, a), key(style, b));
        by_key.then_with(|| (a.key.tgid, a.key.tid).cmp(&(b.key.tgid, b.key.tid)))
    });
}

/// Compares two keys in the requested direction.
pub(super) fn direction(style: &ReportStyle, a: f64, b: f64) -> std::cmp::Ordering {
    match style.ascending {
        true => a.total_cmp(&b),
        false => b.total_cmp(&a),
    }
}
