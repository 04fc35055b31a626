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

/// What stands below a row in the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fold {
    /// Nothing; or it is no tree.
    #[default]
    Leaf,
    /// Rows.
    Open,
    /// So many rows that are not shown.
    Folded(usize),
}

/// A line of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its row.
    pub(super) at: At,
    /// The branches of the tree before its command; `└ ` before an exited group under its
    /// parent.
    pub prefix: String,
    /// What of the tree stands below it.
    pub fold: Fold,
    /// %CPU in tenths, rounded so that the column adds up over all rows.
    pub cpu_tenths: Option<i64>,
    /// CPU+ in tenths, the sum of what the rows it stands for show; in the tree, those of the
    /// whole branch.
    pub cpu_plus_tenths: Option<i64>,
}
