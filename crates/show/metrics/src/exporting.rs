//! Progress of sending recorded windows to a store, as families.

use crate::family::{Family, FamilyKind, Point, Unit, Value};

/// Figures of an exporter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exporting {
    /// Windows that the store accepted.
    pub sent: u64,
    /// Windows that the store already had.
    pub there: u64,
    /// Windows that overlap others of the same time in the store.
    pub overlapping: u64,
    /// Windows that are too old for the store.
    pub old: u64,
    /// Batches that the store accepted.
    pub batches: u64,
    /// Failed attempts.
    pub failed: u64,
    /// Number of times that the log had lost windows before they were sent.
    pub losses: u64,
    /// Time of those windows, ns.
    pub lost_ns: u64,
    /// Bytes of the log from the first window that the store lacks.
    pub pending_bytes: u64,
    /// Time since the end of the last window in the store, ns; `None`: none was sent yet.
    pub behind_ns: Option<u64>,
    /// When all counters were 0, on CLOCK_MONOTONIC, ns.
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
                help: "Recorded windows: sent to the store, already there, overlapping, or too old.",
                unit: Unit::Windows,
                kind: FamilyKind::Counter,
                points: counted("outcome", &windows),
            },
            Family {
                name: "exactop_export_events",
                dotted: "exactop.export.events",
                help: "Accepted batches, failed attempts, and losses of windows before they were sent.",
                unit: Unit::Events,
                kind: FamilyKind::Counter,
                points: counted("kind", &events),
            },
            Family {
                name: "exactop_export_lost_seconds",
                dotted: "exactop.export.lost",
                help: "Time lost before it was sent, within one boot.",
                unit: Unit::Seconds,
                kind: FamilyKind::Counter,
                points: vec![self.counter(None, Value::Ns(self.lost_ns.into()))],
            },
            Family {
                name: "exactop_export_pending_bytes",
                dotted: "exactop.export.pending",
                help: "Bytes of the recording that are not sent yet.",
                unit: Unit::Bytes,
                kind: FamilyKind::Gauge,
                points: gauge(Value::Count(self.pending_bytes.into())),
            },
            Family {
                name: "exactop_export_behind_seconds",
                dotted: "exactop.export.behind",
                help: "Age of the last exported window's end.",
                unit: Unit::Seconds,
                kind: FamilyKind::Gauge,
                points: self.behind_ns.map_or(Vec::new(), |ns| gauge(Value::Ns(ns.into()))),
            },
        ]
    }

    fn counter(&self, label: Option<(&'static str, &str)>, value: Value) -> Point {
        let labels = label.into_iter().map(|(name, word)| (name, word.to_string())).collect();
        Point { labels, value, created_ns: Some(self.created_ns) }
    }
}
