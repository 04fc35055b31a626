//! Detail that a daemon gives up to stay within its bound of memory.

use crate::family::{Family, Kind, Point, Unit, Value};

/// True: it is given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Degraded {
    /// Past windows that wait for a slow reader.
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
            help: "1: this detail is given up, as the daemon is at its bound of memory. All sums stay exact.",
            unit: Unit::One,
            kind: Kind::Gauge,
            points: all.into_iter().map(point).collect(),
        }
    }
}
