//! Details that a daemon drops to stay within its memory bound.

use crate::family::{Family, FamilyKind, Point, Unit, Value};
use exactop_model::Degraded;

/// `exactop_degraded`.
pub(crate) fn family(degraded: Degraded) -> Family {
    let point = |(what, is_given_up): (&str, bool)| Point {
        labels: vec![("what", what.to_string())],
        value: Value::Count(is_given_up.into()),
        created_ns: None,
    };
    Family {
        name: "exactop_degraded",
        dotted: "exactop.degraded",
        help: "1: the daemon dropped this detail at its memory bound: history, brief or threads. All sums stay exact.",
        unit: Unit::One,
        kind: FamilyKind::Gauge,
        points: degraded.details().into_iter().map(point).collect(),
    }
}
