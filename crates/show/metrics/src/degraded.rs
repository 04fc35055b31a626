//! Details that a daemon drops to stay within its memory bound.

use crate::family::{Family, FamilyKind, Point, Unit, Value};

/// The dropped details; true: dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Degraded {
    /// Past windows kept for slow readers.
    pub history: bool,
    /// Rows of processes that exited.
    pub brief: bool,
    /// Rows of threads.
    pub threads: bool,
}

impl Degraded {
    pub(crate) fn family(self) -> Family {
        let all = [("history", self.history), ("brief", self.brief), ("threads", self.threads)];
        let point = |(what, is_given_up): (&str, bool)| Point {
            labels: vec![("what", what.to_string())],
            value: Value::Count(is_given_up.into()),
            created_ns: None,
        };
        Family {
            name: "exactop_degraded",
            dotted: "exactop.degraded",
            help: "1: the daemon has dropped this detail, as it is at its memory bound. All sums stay exact.",
            unit: Unit::One,
            kind: FamilyKind::Gauge,
            points: all.into_iter().map(point).collect(),
        }
    }
}
