//! Row of a control group's name: unit, container, pod, namespace.

use super::cells::{Cells, Fields};
use crate::error::FrameError;
use crate::schema::TableId;
use crate::strings::Strings;
use crate::values::Row;
use exactop_model::ledger::named::{GroupName, Named, Runtime};
use std::sync::Arc;

/// Row of a group; its key is the group's id.
pub(crate) fn group_name(group: &GroupName, strings: &mut Strings) -> Row {
    let GroupName { id, path, named } = group;
    let mut cells = Cells::new(TableId::GroupName.table(), strings);
    cells.text(Some(path));
    put_named(&mut cells, Some(named));
    cells.row(*id)
}

pub(crate) fn group_name_of(row: &Row, strings: &Strings) -> Result<Arc<GroupName>, FrameError> {
    let mut fields = Fields::new(row, strings);
    let path = fields.text()?.ok_or(FrameError::Missing)?.to_vec();
    let named = Arc::new(get_named(&mut fields)?);
    Ok(Arc::new(GroupName { id: row.key, path, named }))
}

pub(super) fn put_named(cells: &mut Cells, named: Option<&Named>) {
    let nothing = Named::default();
    let Named { unit, container, pod, namespace, runtime } = named.map_or(&nothing, |named| named);
    for name in [unit, container, pod, namespace] {
        cells.text(name.as_ref().map(String::as_bytes));
    }
    cells.text(runtime.map(|runtime| runtime.name().as_bytes()));
}

pub(super) fn get_named(fields: &mut Fields) -> Result<Named, FrameError> {
    let mut name = || Ok(fields.text()?.map(|text| String::from_utf8_lossy(text).into_owned()));
    let (unit, container, pod, namespace) = (name()?, name()?, name()?, name()?);
    // A runtime of a later version has no name here.
    let runtime = name()?.and_then(|name| Runtime::of_name(&name));
    Ok(Named { unit, container, pod, namespace, runtime })
}
