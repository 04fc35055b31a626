//! A line of the table, and where its row is.

/// Where a line's row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum At {
    /// In `Frame::rows`.
    Live(usize),
    /// In `Frame::exited`.
    Exited(usize),
    /// Among those who are in the marked window only.
    Gone(usize),
}

/// A line of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its row.
    pub(super) at: At,
    /// The branches of the tree before its command; `└ ` before an exited group under its
    /// parent.
    pub prefix: String,
    /// %CPU in tenths, rounded so that the column adds up over all rows.
    pub cpu_tenths: Option<i64>,
    /// CPU+ in tenths, the sum of what the rows it stands for show; in the tree, those of the
    /// whole branch.
    pub cpu_plus_tenths: Option<i64>,
}
