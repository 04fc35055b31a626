//! The order of rows: by any column, missing figures last in either direction.

use crate::columns::{Column, Context};
use crate::frame::Row;
use crate::value::{Datum, Value};
use std::cmp::Ordering;

/// By what and which way round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SortBy {
    /// The column.
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
    rows.sort_by_cached_key(|row| Key {
        value: (by.column.value)(row, context),
        descending: by.descending,
        tie: (row.key.tgid, row.key.tid, row.ident.ppid),
    });
}

struct Key {
    value: Value,
    descending: bool,
    tie: (u32, u32, u32),
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        compare(&self.value, &other.value, self.descending).then(self.tie.cmp(&other.tie))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key {}

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
