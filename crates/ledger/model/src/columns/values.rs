//! Functions that compute a row's values, used by the registry's entries.

use super::Context;
use crate::frame::value::{Datum, Missing, Value};
use crate::frame::{Row, RowKind};
use crate::ledger::counters::{Counter, CounterUnit};
use crate::ledger::key::Ident;
use crate::ledger::system::DiskRate;
use crate::owner::Grouping;
use crate::text::escape;

pub(super) fn state(row: &Row, counter: Counter) -> Result<u64, Missing> {
    row.delta.get(counter).ok_or(Missing::Source)
}

pub(super) fn counter(row: &Row, counter: Counter) -> Value {
    let datum = match counter.info().unit {
        CounterUnit::Ns => Datum::Ns,
        CounterUnit::Count => Datum::Count,
    };
    known(state(row, counter), datum)
}

/// The value of a living row. A group of exited tasks has none: figures kept for living tasks do
/// not apply to it.
pub(super) fn living(row: &Row, value: impl FnOnce() -> Value) -> Value {
    match row.kind {
        RowKind::Exited => Value::Missing(Missing::NotApplicable),
        _ => value(),
    }
}

pub(super) fn known(figure: Result<u64, Missing>, datum: fn(u64) -> Datum) -> Value {
    figure.map_or_else(Value::Missing, |n| Value::Known(datum(n)))
}

/// A number of exits; unknown if the source sees none.
pub(super) fn exited(row: &Row, number: u64) -> Value {
    match (row.kind, row.children) {
        (RowKind::Exited, _) | (_, Some(_)) => Value::Known(Datum::Count(number)),
        _ => Value::Missing(Missing::Source),
    }
}

pub(super) fn disk_rate(row: &Row, of: fn(&DiskRate) -> f64) -> Value {
    let bytes = |rate: &DiskRate| Value::Known(Datum::Bytes(of(rate).max(0.0) as u64));
    row.detail.disk.as_ref().map_or_else(|why| Value::Missing(*why), bytes)
}

pub(super) fn text<T: AsRef<[u8]>>(text: &Result<T, Missing>) -> Value {
    text.as_ref().map_or_else(|missing| Value::Missing(*missing), Value::text)
}

/// The name under which totals sum the row's control group.
pub(super) fn named(row: &Row, by: Grouping) -> Value {
    match &row.detail.named {
        Err(missing) => Value::Missing(*missing),
        Ok(named) => named.under(by).map_or(Value::Missing(Missing::NotApplicable), Value::text),
    }
}

pub(super) fn own_share(row: &Row, part: Result<u64, Missing>) -> Value {
    match part {
        Ok(ns) => Value::share(Some(ns), row.life_ns, Missing::Source),
        Err(missing) => Value::Missing(missing),
    }
}

pub(super) fn of_children(row: &Row, counter: Counter) -> Option<u64> {
    row.children.and_then(|c| c.get(counter))
}

pub(super) fn cpu_part(
    both: Result<(u64, u64), Missing>,
    ctx: &Context,
    part: fn((u64, u64)) -> u64,
) -> Value {
    match both {
        Ok(both) => ctx.cpu_share(Some(part(both))),
        Err(missing) => Value::Missing(missing),
    }
}

pub(super) fn priority(ident: &Ident) -> String {
    ident.pr().map_or("rt".into(), |pr| pr.to_string())
}

/// The name of a `SCHED_*` number (include/uapi/linux/sched.h).
pub fn policy(policy: u32) -> &'static str {
    match policy {
        0 => "other",
        1 => "fifo",
        2 => "rr",
        3 => "batch",
        5 => "idle",
        6 => "deadline",
        7 => "ext",
        _ => "?",
    }
}

/// Text of the COMMAND column, escaped for the terminal.
pub fn command(row: &Row, command_line: bool) -> String {
    if row.kind == RowKind::Exited {
        return match (row.exited_processes, row.exited_tasks) {
            (0, 0) => row.ident.comm.to_string(),
            (0, threads) => format!("{} x{threads} (threads)", row.ident.comm),
            (processes, _) => format!("{} x{processes}", row.ident.comm),
        };
    }
    match &row.detail.cmdline {
        // The name of a kernel worker in /proc, which says what the worker does.
        Ok(line) if command_line && row.ident.kthread && !line.is_empty() => {
            format!("[{}]", escape::escape(line))
        }
        Ok(line) if command_line && !line.is_empty() => escape::escape(line),
        _ if command_line && row.ident.kthread => format!("[{}]", row.ident.comm),
        _ => row.ident.comm.to_string(),
    }
}
