//! The order of rows: by any column, missing figures last in either direction.

use crate::columns::{Column, Context};
use crate::frame::value::{Datum, Value};
use crate::frame::Row;
use std::cmp::Ordering;

/// By what and which way round.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub struct SortBy {
    pub column: &'static Column,
    /// Largest first.
    pub descending: bool,
}

impl SortBy {
    /// The column's own natural direction.
    pub fn column(column: &'static Column) -> SortBy {
        SortBy { column, descending: column.descending() }
    }
}

/// Sorts rows; ties by tgid and tid, so that a screen does not jump.
pub fn sort(rows: &mut [Row], by: SortBy, context: &Context) {
    rows.sort_by_cached_key(|row| {
        let tie = (row.key.tgid, row.key.tid, row.ident.ppid);
        Ranked::new((by.column.value)(row, context), by.descending, tie)
    });
}

/// A row's place in the order: its value, then what breaks ties.
pub struct Ranked<T> {
    value: Value,
    descending: bool,
    tie: T,
}

impl<T: Ord> Ranked<T> {
    /// The place of a row with this value.
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

/// Compares two values; missing ones come last whichever way round.
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
