//! Sorts rows by any column; missing values come last in both directions.

use crate::columns::{Column, Context};
use crate::frame::value::{Datum, Value};
use crate::frame::Row;
use std::cmp::Ordering;

/// Sort column and direction.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub struct SortBy {
    pub column: &'static Column,
    /// Largest value first.
    pub descending: bool,
}

impl SortBy {
    /// Sorts by a column in its default direction.
    pub fn column(column: &'static Column) -> SortBy {
        SortBy { column, descending: column.descending() }
    }
}

/// Sorts rows. Equal values are ordered by tgid and tid, so that rows do not jump on the screen.
///
/// A row has more than a kilobyte, and idle rows, most of a long list, come in order: rows that
/// have their place already are not touched. `sort_by_cached_key` swaps each with itself.
pub fn sort(rows: &mut [Row], by: SortBy, context: &Context) {
    let key = |(at, row): (usize, &Row)| {
        let tie = (row.key.tgid, row.key.tid, row.ident.ppid, at);
        Ranked::new((by.column.value)(row, context), by.descending, tie)
    };
    let mut order: Vec<_> = rows.iter().enumerate().map(key).collect();
    order.sort_unstable();
    let mut from: Vec<usize> = order.into_iter().map(|ranked| ranked.tie.3).collect();
    for to in 0..rows.len() {
        // The row that stood here before was swapped to where the row of its place came from.
        let mut at = from[to];
        while at < to {
            at = from[at];
        }
        from[to] = at;
        if at != to {
            rows.swap(at, to);
        }
    }
}

/// Sort key of a row: its value, then the tie-breaker.
pub struct Ranked<T> {
    value: Value,
    descending: bool,
    tie: T,
}

impl<T: Ord> Ranked<T> {
    /// Sort key of a row with this value.
    pub fn new(value: Value, descending: bool, tie: T) -> Ranked<T> {
        Ranked { value, descending, tie }
    }
}

impl<T: Ord> Ord for Ranked<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.value, &other.value, self.descending).then_with(|| self.tie.cmp(&other.tie))
    }
}

impl<T: Ord> PartialOrd for Ranked<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Ord> PartialEq for Ranked<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T: Ord> Eq for Ranked<T> {}

/// Compares two values; a missing value comes last in both directions.
pub fn compare(a: &Value, b: &Value, descending: bool) -> Ordering {
    let order = match (a, b) {
        (Value::Missing(_), Value::Missing(_)) => return Ordering::Equal,
        (Value::Missing(_), _) => return Ordering::Greater,
        (_, Value::Missing(_)) => return Ordering::Less,
        (Value::Known(Datum::Text(a)), Value::Known(Datum::Text(b))) => a.cmp(b),
        (a, b) => a.number().unwrap_or(f64::NAN).total_cmp(&b.number().unwrap_or(f64::NAN)),
    };
    if descending {
        order.reverse()
    } else {
        order
    }
}
