//! A line of the table, and the place of its row.

/// Place of a line's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RowPlace {
    /// Index in `Frame::rows`.
    Live(usize),
    /// Index in `Frame::exited`.
    Exited(usize),
    /// Index among rows that only the marked window has.
    Gone(usize),
}

/// The part of the tree below a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fold {
    /// Nothing, or the table is not a tree.
    #[default]
    Leaf,
    /// Visible rows.
    Open,
    /// Number of hidden rows.
    Folded(usize),
}

/// A line of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The place of its row.
    pub(super) at: RowPlace,
    /// The tree's branches in front of its command; `└ ` in front of an exited group below its
    /// parent.
    pub prefix: String,
    /// The part of the tree below it.
    pub fold: Fold,
    /// %CPU in tenths, rounded so that the column adds up over all rows.
    pub cpu_tenths: Option<i64>,
    /// CPU+ in tenths: the sum of the figures of the rows that the line stands for; in the tree, of
    /// the whole branch.
    pub cpu_plus_tenths: Option<i64>,
}
