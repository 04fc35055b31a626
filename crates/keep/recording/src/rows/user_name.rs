//! Row of a user's name.

use super::cells::{Cells, Fields};
use crate::error::FrameError;
use crate::schema::TableId;
use crate::strings::Strings;
use crate::values::Row;

/// Row of a user; its key is the uid.
pub(crate) fn user_name(uid: u32, name: &str, strings: &mut Strings) -> Row {
    let mut cells = Cells::new(TableId::UserName.table(), strings);
    cells.text(Some(name.as_bytes()));
    cells.row(uid.into())
}

pub(crate) fn user_name_of(row: &Row, strings: &Strings) -> Result<(u32, String), FrameError> {
    let uid = u32::try_from(row.key).map_err(|_| FrameError::Number)?;
    let name = Fields::new(row, strings).text()?.ok_or(FrameError::Missing)?;
    Ok((uid, String::from_utf8_lossy(name).into_owned()))
}
