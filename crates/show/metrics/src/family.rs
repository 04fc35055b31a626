//! Figures before they are written in a format.

/// Kind of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyKind {
    /// Only grows, from the start of each series on.
    Counter,
    /// Any value.
    Gauge,
}

/// Unit of the figures. Time is counted in ns and written in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub enum Unit {
    Seconds,
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

/// A figure, without loss of precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nanoseconds.
    Ns(i128),
    /// A count.
    Count(u128),
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
    /// Counter or gauge.
    pub kind: FamilyKind,
    /// The series.
    pub points: Vec<Point>,
}
