//! The order of a page's rows, where its columns are its own: by which of them, and which way round.

use crate::columns::sort::Ranked;
use crate::frame::value::Value;

/// By which column, counted from the left, and which way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Order {
    pub column: usize,
    /// Largest first.
    pub descending: bool,
}

impl Order {
    /// The place of a row that has this in its column, and was the n-th before: figures that are
    /// missing come last whichever way round.
    pub(super) fn place(self, value: Value, n: usize) -> Ranked<usize> {
        Ranked::new(value, self.descending, n)
    }
}
