//! A difference as one JSON object. Sums are texts, as in the balance.

use super::{Difference, Row, Side};
use exactop_model::text::escape::harmless;
use serde_json::{json, Value};

const SCHEMA: &str = "exactop.fleet_diff";
const VERSION: u32 = 1;

/// The whole difference, on one line.
pub fn json(difference: &Difference) -> String {
    let Difference { by, measure, basis, a, b, rows, unnamed } = difference;
    let delta = |of: &dyn Fn(&Side) -> u128| difference.delta(of).to_string();
    let if_told = |of: fn(&Side) -> (u128, u64)| {
        let is_told = [a, b].iter().all(|side| of(side).1 == side.sums.windows);
        is_told.then(|| difference.delta(|side| of(side).0).to_string())
    };
    let value = json!({
        "schema": { "name": SCHEMA, "version": VERSION },
        "by": by.name(),
        "per": measure.per.name(),
        "unit": measure.per.unit(),
        "changed": measure.changed,
        "a": side(a),
        "b": side(b),
        "books": {
            "busy_delta_ns": delta(&Side::busy_ns),
            "unnamed_delta_ns": delta(&|side| side.sums.unnamed_ns),
            "idle_delta_ns": delta(&|side| side.sums.idle_ns),
            "steal_delta_ns": if_told(|side| (side.sums.steal_ns, side.sums.steal_windows)),
            "irq_delta_ns": if_told(|side| (side.sums.irq_ns, side.sums.irq_windows)),
            "offline_delta_ns": delta(&|side| side.sums.offline_ns),
            "residual_delta_ns": (b.sums.residual_ns - a.sums.residual_ns).to_string(),
            "capacity_delta_ns": delta(&|side| side.sums.capacity_ns),
        },
        "least_pct": measure.least.of_cpu_pct,
        "least_of_row_pct": measure.least.of_row_pct,
        "weighed": { "what": basis.kind.name(), "hosts": [basis.hosts().0, basis.hosts().1] },
        "verdict": difference.verdict().name(),
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
        "unnamed": row(unnamed),
    });
    format!("{value}\n")
}

fn side(side: &Side) -> Value {
    let sums = &side.sums;
    let told = |ns: u128, windows: u64| (windows == sums.windows).then(|| ns.to_string());
    json!({
        "hosts": side.hosts.len(),
        "hosts_with_findings": side.findings,
        "from_wall_ns": i64::try_from(side.from_ns).ok(),
        "to_wall_ns": i64::try_from(side.to_ns).ok(),
        "windows": sums.windows,
        "capacity_ns": sums.capacity_ns.to_string(),
        "busy_ns": side.busy_ns().to_string(),
        "unnamed_ns": sums.unnamed_ns.to_string(),
        "idle_ns": sums.idle_ns.to_string(),
        "steal_ns": told(sums.steal_ns, sums.steal_windows),
        "irq_ns": told(sums.irq_ns, sums.irq_windows),
        "offline_ns": sums.offline_ns.to_string(),
        "residual_ns": sums.residual_ns.to_string(),
    })
}

fn row(row: &Row) -> Value {
    let interval = row.apart.and_then(|apart| apart.interval);
    json!({
        "name": row.name.as_deref().map(harmless),
        "change": row.change.name(),
        "a_ns": row.a_ns.to_string(),
        "b_ns": row.b_ns.to_string(),
        "delta_ns": row.delta_ns.to_string(),
        "a": row.a,
        "b": row.b,
        "a_hosts": row.hosts.0,
        "b_hosts": row.hosts.1,
        "difference": row.change_by_measure(),
        "low": interval.map(|(low, _)| low),
        "high": interval.map(|(_, high)| high),
        "beyond_noise": row.apart.map(|apart| apart.beyond),
    })
}
