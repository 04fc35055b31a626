//! A difference as one JSON object.

use crate::compare::{Difference, Row};
use crate::pairs::PairChange;
use crate::stretch::Stretch;
use exactop_model::text::escape::escape_str;
use serde_json::{json, Value};

/// Name of the schema.
pub const SCHEMA: &str = "exactop.diff";
/// Version of the schema.
pub const VERSION: u32 = 1;

/// The whole difference, on one line.
pub fn difference(difference: &Difference) -> String {
    let Difference { by, per, least, a, b, rows, unnamed } = difference;
    let value = json!({
        "schema": { "name": SCHEMA, "version": VERSION },
        "by": by.name(),
        "per": per.name(),
        "work": per.work().map(|work| work.name()),
        "unit": per.unit(),
        "a": stretch(a),
        "b": stretch(b),
        "books": {
            "busy_delta_ns": difference.delta(|s| s.accounts.busy_ns()),
            "unnamed_delta_ns": difference.delta(|s| s.accounts.unnamed_ns),
            "idle_delta_ns": difference.delta(|s| s.accounts.idle_ns),
            "steal_delta_ns": difference.delta_if_measured(|s| s.accounts.steal_ns()),
            "irq_delta_ns": difference.delta_if_measured(|s| s.accounts.irq_ns()),
            "offline_delta_ns": difference.delta(|s| s.accounts.offline_ns),
            "residual_delta_ns": b.accounts.residual_ns - a.accounts.residual_ns,
            "capacity_delta_ns": difference.delta(|s| s.accounts.capacity_ns),
        },
        "least_pct": least.of_cpu_pct,
        "least_of_row_pct": least.of_row_pct,
        "verdict": difference.verdict().name(),
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
        "unnamed": row(unnamed),
        "pairs": difference.pairs().map(|all| all.iter().map(pair).collect::<Vec<_>>()),
    });
    format!("{value}\n")
}

/// Machine and accounts of a range.
pub fn stretch(stretch: &Stretch) -> Value {
    let accounts = &stretch.accounts;
    let machine = stretch.machine.as_ref();
    let wall = |ns: i128| i64::try_from(ns).ok();
    json!({
        "host": machine.map(|machine| escape_str(&machine.host)),
        "kernel": machine.map(|machine| escape_str(&machine.kernel)),
        "boot_id": machine.map(|machine| escape_str(&machine.boot_id)),
        "cpus": stretch.cpus,
        "from_wall_ns": stretch.spans.and_then(|(from, _)| wall(from)),
        "to_wall_ns": stretch.spans.and_then(|(_, to)| wall(to)),
        "windows": stretch.windows,
        "inexact_windows": stretch.inexact,
        "length_ns": stretch.length_ns,
        "blame_windows": stretch.pairs.as_ref().map(|pairs| pairs.windows),
        "blame_length_ns": stretch.pairs.as_ref().map(|pairs| pairs.length_ns),
        "gaps": stretch.gaps.len(),
        "capacity_ns": accounts.capacity_ns,
        "busy_ns": accounts.busy_ns(),
        "unnamed_ns": accounts.unnamed_ns,
        "idle_ns": accounts.idle_ns,
        "steal_ns": accounts.steal_ns(),
        "steal_windows": accounts.steal_windows(),
        "irq_ns": accounts.irq_ns(),
        "irq_windows": accounts.irq_windows(),
        "offline_ns": accounts.offline_ns,
        "residual_ns": accounts.residual_ns,
    })
}

fn pair(pair: &PairChange) -> Value {
    json!({
        "victim": pair.victim,
        "culprit": pair.culprit,
        "kind": pair.kind,
        "a_ns": pair.a_ns,
        "b_ns": pair.b_ns,
        "delta_ns": pair.b_ns.wrapping_sub(pair.a_ns) as i64,
    })
}

fn row(row: &Row) -> Value {
    let group = row.group.as_ref();
    let process = group.and_then(|group| group.process);
    let interval = row.apart.and_then(|apart| apart.interval);
    json!({
        "name": group.map(|group| &group.name),
        "pid": process.map(|(pid, _)| pid),
        "start_ns": process.map(|(_, start_ns)| start_ns),
        "change": row.change.name(),
        "a_ns": row.a_ns,
        "b_ns": row.b_ns,
        "delta_ns": row.delta_ns,
        "a": row.a,
        "b": row.b,
        "difference": row.change_by_measure(),
        "low": interval.map(|(low, _)| low),
        "high": interval.map(|(_, high)| high),
        "beyond_noise": row.apart.map(|apart| apart.beyond),
    })
}
