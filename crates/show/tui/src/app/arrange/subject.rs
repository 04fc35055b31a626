//! A row that may be shown, with all facts that decide on it. No I/O.

use super::line::RowPlace;
use super::shares::Share;
use exactop_model::columns::sort::Ranked;
use exactop_model::{Comm, Row};

/// Ties are broken by PID, so that the screen does not jump: process, thread, parent, name.
pub(super) type Rank = Ranked<(u32, u32, u32, Comm)>;

/// A row with its earlier state, if a window is marked.
pub(super) struct Subject<'a> {
    pub(super) at: RowPlace,
    pub(super) row: &'a Row,
    /// Its share of CPU time; for a row that has exited, its share in the marked window.
    pub(super) share: Share,
    /// Sort key.
    pub(super) rank: Rank,
    /// True if it passes every filter.
    pub(super) passes: bool,
    /// True if it was idle, now and in the marked window.
    pub(super) is_idle: bool,
    /// Tenths of a per cent that its branch used in the marked window, if a window is marked and
    /// knows it.
    pub(super) branch_then: Option<Option<i64>>,
    /// True if it is shown. A live row that is not may have shown rows below it.
    pub(super) kept: bool,
}

impl Subject<'_> {
    /// True for a living process or thread.
    pub(super) fn is_live(&self) -> bool {
        matches!(self.at, RowPlace::Live(_))
    }
}
