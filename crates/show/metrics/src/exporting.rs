//! How sending what is recorded on to a store goes, as families beside those of the ledger.

use crate::family::{Family, Kind, Point, Unit, Value};

/// What an exporter says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exporting {
    /// Windows that the store took,
    pub sent: u64,
    /// had already,
    pub there: u64,
    /// has others of the same time of,
    pub overlapping: u64,
    /// or does not take any more because of their age.
    pub old: u64,
    /// Batches that the store took.
    pub batches: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Times at which the log had lost windows before they were sent.
    pub losses: u64,
    /// How much time that was.
    pub lost_ns: u64,
    /// Bytes of the log from the first window on that is not in the store.
    pub pending_bytes: u64,
    /// How long ago the last window ended that is in the store; `None`: none was sent yet.
    pub behind_ns: Option<u64>,
    /// When all this stood at 0, on the monotonic clock.
    pub created_ns: u64,
}

impl Exporting {
    pub(crate) fn families(&self) -> Vec<Family> {
        let counted = |label, words: &[(&str, u64)]| {
            let point = |&(word, n): &(&str, u64)| {
                self.counter(Some((label, word)), Value::Count(n.into()))
            };
            words.iter().map(point).collect()
        };
        let gauge = |value| vec![Point { labels: Vec::new(), value, created_ns: None }];
        let windows = [
            ("sent", self.sent),
            ("there", self.there),
            ("overlapping", self.overlapping),
            ("old", self.old),
        ];
        let events = [("batch", self.batches), ("failure", self.failed), ("loss", self.losses)];
        vec![
            Family {
                name: "exactop_export_windows",
                dotted: "exactop.export.windows",
                help: "Recorded windows on their way to a store, by what became of them.",
                unit: Unit::Windows,
                kind: Kind::Counter,
                points: counted("outcome", &windows),
            },
            Family {
                name: "exactop_export_events",
                dotted: "exactop.export.events",
                help: "Batches a store took, attempts that failed, and times the log had lost windows before they were sent.",
                unit: Unit::Events,
                kind: Kind::Counter,
                points: counted("kind", &events),
            },
            Family {
                name: "exactop_export_lost_seconds",
                dotted: "exactop.export.lost",
                help: "Time whose windows the log lost before they were sent, as far as it is of one boot.",
                unit: Unit::Seconds,
                kind: Kind::Counter,
                points: vec![self.counter(None, Value::Ns(self.lost_ns.into()))],
            },
            Family {
                name: "exactop_export_pending_bytes",
                dotted: "exactop.export.pending",
                help: "Bytes of the log's files from the first window on that is not in the store.",
                unit: Unit::Bytes,
                kind: Kind::Gauge,
                points: gauge(Value::Count(self.pending_bytes.into())),
            },
            Family {
                name: "exactop_export_behind_seconds",
                dotted: "exactop.export.behind",
                help: "How long ago the last window ended that is in the store.",
                unit: Unit::Seconds,
                kind: Kind::Gauge,
                points: self.behind_ns.map_or(Vec::new(), |ns| gauge(Value::Ns(ns.into()))),
            },
        ]
    }

    fn counter(&self, label: Option<(&'static str, &str)>, value: Value) -> Point {
        let labels = label.into_iter().map(|(name, word)| (name, word.to_string())).collect();
        Point { labels, value, created_ns: Some(self.created_ns) }
    }
}
