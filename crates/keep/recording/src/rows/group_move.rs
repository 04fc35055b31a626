//! Row of the figures that moved from one control group's account to another's.

use super::cells::{Cells, Fields};
use crate::error::FrameError;
use crate::schema::TableId;
use crate::strings::Strings;
use crate::values::Row;
use exactop_model::ledger::snapshot::GroupMove;

/// Row of the n-th move in the list.
pub(crate) fn group_move(n: u64, moved: &GroupMove, strings: &mut Strings) -> Row {
    let mut cells = Cells::new(TableId::GroupMove.table(), strings);
    cells.uint(moved.from).uint(moved.to).counters(&moved.used);
    cells.row(n)
}

pub(crate) fn group_move_of(row: &Row, strings: &Strings) -> Result<GroupMove, FrameError> {
    let mut f = Fields::new(row, strings);
    Ok(GroupMove { from: f.known()?, to: f.known()?, used: f.counters() })
}
