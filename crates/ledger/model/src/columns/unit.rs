//! Units of column values.

/// Unit of a column's values; it decides the width on the screen and the JSON type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub enum Unit {
    /// Per cent of one CPU or of the row's own time; the column's help says which.
    Pct,
    /// Nanoseconds.
    Ns,
    /// CPU time as minutes:seconds.hundredths.
    Time,
    /// Number of events or things.
    Count,
    Bytes,
    /// A signed number.
    Int,
    /// An identifier: pid, user id, CPU.
    Id,
    Text,
}
