//! What is told, before it is written in anybody's format.

/// How figures of a family behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, from the beginning of each series on.
    Counter,
    /// Stands anywhere.
    Gauge,
}

/// In what they are told. Time is counted in ns and written in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub enum Unit {
    Seconds,
    Processes,
    Windows,
    Events,
    Cpus,
    Bytes,
    /// None: the figure is 1, and its labels tell.
    One,
}

impl Unit {
    /// In the Unified Code for Units of Measure, as OTLP has it.
    pub(crate) const fn ucum(self) -> &'static str {
        match self {
            Unit::Seconds => "ns",
            Unit::Processes => "{process}",
            Unit::Windows => "{window}",
            Unit::Events => "{event}",
            Unit::Cpus => "{cpu}",
            Unit::Bytes => "By",
            Unit::One => "1",
        }
    }
}

/// A figure, without loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nanoseconds.
    Ns(i128),
    /// So many.
    Count(u128),
}

/// One series of a family, as of the boundary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Names and values; harmless, not yet quoted for a format.
    pub labels: Vec<(&'static str, String)>,
    /// The figure.
    pub value: Value,
    /// When a counter stood at 0, on the monotonic clock.
    pub created_ns: Option<u64>,
}

/// All series of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// For Prometheus, without the `_total` of counters.
    pub name: &'static str,
    /// For OTLP.
    pub dotted: &'static str,
    /// One sentence.
    pub help: &'static str,
    /// In what.
    pub unit: Unit,
    /// Counter or gauge.
    pub kind: Kind,
    /// The series.
    pub points: Vec<Point>,
}
