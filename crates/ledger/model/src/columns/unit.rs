//! The units of columns' figures.

/// What a column's figures are; the width on screen and the JSON type follow from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub enum Unit {
    /// Per cent; of one CPU or of the row's own time, as the help says.
    Pct,
    /// Nanoseconds.
    Ns,
    /// CPU time as minutes:seconds.hundredths.
    Time,
    /// Events or things.
    Count,
    Bytes,
    /// A signed number.
    Int,
    /// An identifier: pid, user id, CPU.
    Id,
    Text,
}
