//! The registry's columns that are figures of a window and can be added up.

use exactop_model::columns::{ColumnKind, Context, Unit, COLUMNS};
use exactop_model::ledger::window::TaskDelta;
use exactop_model::{Column, ColumnId, Counter, Datum, Row, Value};
use serde::Serialize;

/// The page derives shares of time from these. Values at an instant cannot be added up.
pub(crate) fn columns() -> Vec<&'static Column> {
    let is_instant = |id| matches!(id, ColumnId::StartNs | ColumnId::Threads | ColumnId::Repairs);
    let adds_up = |c: &&Column| matches!(c.unit, Unit::Ns | Unit::Count) && !is_instant(c.id);
    COLUMNS.iter().filter(adds_up).collect()
}

/// Description of a column for the page.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ColumnInfo {
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    help: &'static str,
    /// True if the figure is unknown for all other rows together.
    of_rows_alone: bool,
}

/// True if a figure is unknown for all other rows together. Their sleep is, for example, because
/// idle tasks are not read.
pub(crate) fn is_of_rows_alone(column: &Column) -> bool {
    matches!(
        column.kind,
        ColumnKind::Sleep
            | ColumnKind::Fault
            | ColumnKind::Block
            | ColumnKind::Stop
            | ColumnKind::Lock
            | ColumnKind::Identity
    )
}

impl ColumnInfo {
    pub fn from_column(column: &Column) -> ColumnInfo {
        let unit = if column.unit == Unit::Ns { "ns" } else { "count" };
        let of_rows_alone = is_of_rows_alone(column);
        ColumnInfo {
            name: column.name,
            title: column.title,
            unit,
            help: column.help,
            of_rows_alone,
        }
    }
}

pub(crate) fn of_row(row: &Row, columns: &[&Column], context: &Context) -> Vec<Option<u64>> {
    let value = |column: &&Column| match (column.value)(row, context) {
        Value::Known(Datum::Ns(n) | Datum::Count(n)) => Some(n),
        _ => None,
    };
    columns.iter().map(value).collect()
}

/// The figures of a thread that are its own.
pub(crate) fn of_thread(task: &TaskDelta, columns: &[&Column]) -> Vec<Option<u64>> {
    let value = |column: &&Column| match (column.id, counter(column)) {
        (ColumnId::LifeNs, _) => Some(task.life_ns),
        (ColumnId::UserNs | ColumnId::SystemNs, _) if did_not_run(task) => Some(0),
        (_, counter) => task.delta.get(counter?),
    };
    columns.iter().map(value).collect()
}

fn counter(column: &Column) -> Option<Counter> {
    Counter::ALL.iter().find(|counter| counter.info().id == column.name).copied()
}

/// True if the task did not run. Its user and system time are then 0, even if they are not measured
/// separately.
fn did_not_run(task: &TaskDelta) -> bool {
    task.delta.get(Counter::RunNs) == Some(0)
}

/// The figures of a task without events: it stayed in one state all the time.
pub(crate) fn of_still(task: &TaskDelta, columns: &[&Column]) -> Vec<Option<u64>> {
    let value = |column: &&Column| match (column.id, counter(column)) {
        (ColumnId::LifeNs, _) => Some(task.life_ns),
        (ColumnId::UserNs | ColumnId::SystemNs, _) if did_not_run(task) => Some(0),
        (_, Some(counter)) => task.delta.get(counter),
        // Shares of its CPU time, which is 0, and exited tasks, of which there are none.
        (_, None) => Some(0),
    };
    columns.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_that_is_a_state_is_a_column() {
        let columns = columns();
        for counter in Counter::STATES {
            let id = counter.info().id;
            assert!(columns.iter().any(|column| column.name == id), "{id}");
        }
        assert!(columns.iter().all(|column| column.id != ColumnId::StartNs));
    }
}
