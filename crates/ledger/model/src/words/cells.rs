//! What stands in a cell of a page whose columns are its own, and what its rows are ordered by there.

use crate::frame::value::{Missing, Value};

/// Nanoseconds to order by.
pub(super) fn ns(ns: Option<u64>) -> Value {
    Value::ns(ns, Missing::Source)
}

/// A count to order by.
pub(super) fn count(count: Option<u64>) -> Value {
    Value::count(count, Missing::Source)
}

/// A part in per cent, `-` where it is not known.
pub(super) fn tenths(ns: Option<u64>, of_ns: f64) -> String {
    ns.map_or("-".into(), |ns| format!("{:.1}", 100.0 * ns as f64 / of_ns.max(1.0)))
}

/// A number, `-` where it is not known.
pub(super) fn some(n: Option<u64>) -> String {
    n.map_or("-".into(), |n| n.to_string())
}
