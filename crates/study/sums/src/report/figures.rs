//! A range as one JSON object: its accounts, its rows with all counters, and pieces of time.

use super::ordered;
use crate::json::stretch as facts;
use crate::slots::Slot;
use crate::stretch::{Stretch, Total};
use exactop_model::Counter;
use serde_json::{json, Map, Value};

const SCHEMA: &str = "exactop.report";
const VERSION: u32 = 1;

/// The whole range, on one line.
pub fn json(stretch: &Stretch) -> String {
    let rows = ordered(stretch);
    let value = json!({
        "schema": { "name": SCHEMA, "version": VERSION },
        "by": stretch.by.name(),
        "stretch": facts(stretch),
        "rows": rows.iter().map(|(_, total)| row(stretch, total)).collect::<Vec<_>>(),
        "blame": stretch.pairs.as_ref().map(|pairs| json!({
            "windows": pairs.windows,
            "blame_residual_ns": pairs.residual_ns,
            "rows": pairs.rows,
        })),
        "pieces": stretch.slots.iter().map(|slot| piece(slot, &rows)).collect::<Vec<_>>(),
    });
    format!("{value}\n")
}

fn row(stretch: &Stretch, total: &Total) -> Value {
    let counters: Map<String, Value> = Counter::ALL
        .iter()
        .filter(|&&counter| counter != Counter::RunNs)
        .map(|&counter| (counter.info().id.into(), total.counters.get(counter).into()))
        .collect();
    let process = total.group.process;
    let mut row = json!({
        "name": total.group.name,
        "pid": process.map(|(pid, _)| pid),
        "start_ns": process.map(|(_, start_ns)| start_ns),
        "run_ns": total.sum.run_ns,
        "exited_processes": stretch.exits(total),
    });
    if let Some(row) = row.as_object_mut() {
        row.extend(counters);
    }
    row
}

/// A piece of time, with the CPU time of each row in the order of the rows.
fn piece(slot: &Slot, rows: &[(u32, &Total)]) -> Value {
    let accounts = &slot.accounts;
    let run_ns = |number: &u32| slot.rows.get(number).map_or(0, |sum| sum.run_ns);
    json!({
        "from_wall_ns": i64::try_from(slot.from_wall_ns).ok(),
        "to_wall_ns": i64::try_from(slot.to_wall_ns).ok(),
        "windows": slot.windows,
        "length_ns": slot.length_ns,
        "capacity_ns": accounts.capacity_ns,
        "unnamed_ns": accounts.unnamed_ns,
        "idle_ns": accounts.idle_ns,
        "irq_ns": accounts.irq_ns(),
        "steal_ns": accounts.steal_ns(),
        "offline_ns": accounts.offline_ns,
        "residual_ns": accounts.residual_ns,
        "run_ns": rows.iter().map(|(number, _)| run_ns(number)).collect::<Vec<u64>>(),
    })
}
