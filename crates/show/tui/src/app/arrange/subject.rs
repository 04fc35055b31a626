//! A row that may stand on the screen, with all that is decided by. Pure.

use super::line::At;
use super::shares::Share;
use exactop_model::columns::sort::Ranked;
use exactop_model::{Comm, Row};

/// Ties are broken by PID, so that a screen does not jump: process, thread, parent, name.
pub(super) type Rank = Ranked<(u32, u32, u32, Comm)>;

/// A row as it stands against the marked window, where one is marked.
pub(super) struct Subject<'a> {
    pub(super) at: At,
    pub(super) row: &'a Row,
    /// Its share of CPU time; of a row that is gone that of then.
    pub(super) share: Share,
    /// Where it stands in the order.
    pub(super) rank: Rank,
    /// Every filter holds.
    pub(super) passes: bool,
    /// It did nothing, nor had it in the marked window.
    pub(super) is_idle: bool,
    /// Tenths of a per cent that its branch used in the marked window, where one is marked and says so.
    pub(super) branch_then: Option<Option<i64>>,
    /// It is shown. A live row that is not may have some below it that are.
    pub(super) kept: bool,
}

impl Subject<'_> {
    /// Whether it is a process or a thread that is there.
    pub(super) fn is_live(&self) -> bool {
        matches!(self.at, At::Live(_))
    }
}
