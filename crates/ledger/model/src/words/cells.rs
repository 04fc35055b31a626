//! Cells of pages that define their own columns, and the values that order their rows.

use crate::frame::value::{Missing, Value};

/// Nanoseconds as a sort value.
pub(super) fn ns(ns: Option<u64>) -> Value {
    Value::ns(ns, Missing::Source)
}

/// A count as a sort value.
pub(super) fn count(count: Option<u64>) -> Value {
    Value::count(count, Missing::Source)
}

/// A part in per cent; `-` if unknown.
pub(super) fn tenths(ns: Option<u64>, of_ns: f64) -> String {
    ns.map_or("-".into(), |ns| format!("{:.1}", 100.0 * ns as f64 / of_ns.max(1.0)))
}

/// A number; `-` if unknown.
pub(super) fn some(n: Option<u64>) -> String {
    n.map_or("-".into(), |n| n.to_string())
}
