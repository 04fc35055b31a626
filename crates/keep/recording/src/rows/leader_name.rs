//! Row of a process's name whose leader the source does not see.

use super::cells::{Cells, Fields};
use crate::error::FrameError;
use crate::schema::TableId;
use crate::strings::Strings;
use crate::values::Row;
use exactop_model::Comm;

/// Row of a process; its key is the process's tgid.
pub(crate) fn leader_name((tgid, comm): (u32, Comm), strings: &mut Strings) -> Row {
    let mut cells = Cells::new(TableId::LeaderName.table(), strings);
    cells.text(Some(comm.bytes()));
    cells.row(tgid.into())
}

pub(crate) fn leader_name_of(row: &Row, strings: &Strings) -> Result<(u32, Comm), FrameError> {
    let tgid = u32::try_from(row.key).map_err(|_| FrameError::Number)?;
    let comm = Fields::new(row, strings).text()?.ok_or(FrameError::Missing)?;
    Ok((tgid, Comm::new(comm)))
}
