//! Order of the rows on a page that defines its own columns.

use crate::columns::sort::Ranked;
use crate::frame::value::Value;

/// Sort column, counted from the left, and direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Order {
    pub column: usize,
    /// Largest value first.
    pub descending: bool,
}

impl Order {
    /// Sort key of the `n`-th row with this value. Missing values come last in both directions.
    pub(super) fn place(self, value: Value, n: usize) -> Ranked<usize> {
        Ranked::new(value, self.descending, n)
    }
}
