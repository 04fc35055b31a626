//! Figures before they are written in a format.

use exactop_model::blame::sizes::{end_ns, BUCKETS};

/// Kind of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyKind {
    /// Only grows, from the start of each series on.
    Counter,
    /// Any value.
    Gauge,
    /// Counts by size, which only grow.
    Histogram {
        /// True if pages have its buckets, not only its count and sum.
        buckets: bool,
    },
}

/// Unit of the figures. Time is held in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub enum Unit {
    Seconds,
    Nanoseconds,
    Processes,
    Windows,
    Events,
    Cpus,
    Bytes,
    /// No unit: the figure is 1, and its labels carry the information.
    One,
}

impl Unit {
    /// Name in the Unified Code for Units of Measure, as OTLP has it.
    pub(crate) const fn ucum(self) -> &'static str {
        match self {
            Unit::Seconds | Unit::Nanoseconds => "ns",
            Unit::Processes => "{process}",
            Unit::Windows => "{window}",
            Unit::Events => "{event}",
            Unit::Cpus => "{cpu}",
            Unit::Bytes => "By",
            Unit::One => "1",
        }
    }
}

/// A figure, without loss of precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // Most memory of a page is in labels.
pub enum Value {
    /// Nanoseconds.
    Ns(i128),
    /// A count.
    Count(u128),
    /// Waits by size.
    Waits(WaitCounts),
}

/// Ended waits of one kind, by size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitCounts {
    /// Dispatches that ended a wait of this size.
    pub counts: [u64; BUCKETS],
    /// Time of all waits, ns.
    pub ns: u128,
}

impl WaitCounts {
    /// Dispatches.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Dispatches up to and with each bucket.
    pub(crate) fn cumulative(&self) -> impl Iterator<Item = u64> + '_ {
        self.counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        })
    }
}

/// The longest wait of a bucket, ns: waits are whole ns. `None`: it has no end.
pub(crate) fn upper_ns(bucket: usize) -> Option<u64> {
    end_ns(bucket).map(|end| end - 1)
}

/// One series of a family, as of the boundary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Label names and values; escaped, but not yet quoted for a format.
    pub labels: Vec<(&'static str, String)>,
    /// The figure.
    pub value: Value,
    /// When a counter was 0, on CLOCK_MONOTONIC, ns.
    pub created_ns: Option<u64>,
}

/// All series of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// Name for Prometheus, without the `_total` of counters.
    pub name: &'static str,
    /// Name for OTLP.
    pub dotted: &'static str,
    /// Help text in one sentence.
    pub help: &'static str,
    /// Unit of the figures.
    pub unit: Unit,
    /// Counter, gauge or histogram.
    pub kind: FamilyKind,
    /// The series.
    pub points: Vec<Point>,
}
