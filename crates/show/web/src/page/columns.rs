//! The columns of the registry that are figures of a window and can be added up.

use exactop_model::columns::{Context, Kind, Unit, COLUMNS};
use exactop_model::ledger::window::TaskDelta;
use exactop_model::{Column, ColumnId, Counter, Datum, Row, Value};
use serde::Serialize;

/// Shares of time follow from these on the page; what is as of an instant does not add up.
pub(crate) fn columns() -> Vec<&'static Column> {
    let is_instant = |id| matches!(id, ColumnId::StartNs | ColumnId::Threads | ColumnId::Repairs);
    let adds_up = |c: &&Column| matches!(c.unit, Unit::Ns | Unit::Count) && !is_instant(c.id);
    COLUMNS.iter().filter(adds_up).collect()
}

/// What a page says of a column.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Told {
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    help: &'static str,
    /// Not known of all others together.
    of_rows_alone: bool,
}

/// Whether a figure is known of all others together: how long they slept is not, since nobody looks at who
/// does nothing.
pub(crate) fn is_of_rows_alone(column: &Column) -> bool {
    matches!(column.kind, Kind::Sleep | Kind::Lock | Kind::Identity)
}

impl Told {
    pub fn of(column: &Column) -> Told {
        let unit = if column.unit == Unit::Ns { "ns" } else { "count" };
        let of_rows_alone = is_of_rows_alone(column);
        Told { name: column.name, title: column.title, unit, help: column.help, of_rows_alone }
    }
}

/// The figures of a row.
pub(crate) fn of_row(row: &Row, columns: &[&Column], context: &Context) -> Vec<Option<u64>> {
    let value = |column: &&Column| match (column.value)(row, context) {
        Value::Known(Datum::Ns(n) | Datum::Count(n)) => Some(n),
        _ => None,
    };
    columns.iter().map(value).collect()
}

/// The figures of a thread, as far as they are its own.
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

/// Where user and system time are not told apart: of what did not run both are nothing.
fn did_not_run(task: &TaskDelta) -> bool {
    task.delta.get(Counter::RunNs) == Some(0)
}

/// The figures of a task to which nothing happened: it did one thing all the time.
pub(crate) fn of_still(task: &TaskDelta, columns: &[&Column]) -> Vec<Option<u64>> {
    let value = |column: &&Column| match (column.id, counter(column)) {
        (ColumnId::LifeNs, _) => Some(task.life_ns),
        (ColumnId::UserNs | ColumnId::SystemNs, _) if did_not_run(task) => Some(0),
        (_, Some(counter)) => task.delta.get(counter),
        // Shares of its CPU time, of which there is none, and what exited.
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
