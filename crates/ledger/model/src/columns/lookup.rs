//! Finds columns by name and by id, and collects what the source must read for them.

use super::{Column, ColumnId, COLUMNS};
use crate::feed::needs::Needs;
use crate::text::did_you_mean::nearest;

impl ColumnId {
    /// The registry's entry of this column.
    pub fn column(self) -> &'static Column {
        &COLUMNS[self as usize]
    }
}

impl From<ColumnId> for &'static str {
    fn from(id: ColumnId) -> &'static str {
        id.column().name
    }
}

impl TryFrom<String> for ColumnId {
    type Error = UnknownColumn;

    fn try_from(name: String) -> Result<ColumnId, UnknownColumn> {
        find(&name).map(|column| column.id)
    }
}

/// No column has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no column '{name}': {}", advice(.near))]
pub struct UnknownColumn {
    name: String,
    near: Option<&'static str>,
}

impl UnknownColumn {
    /// The name that no column has.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The nearest name of a column, if one is near.
    pub fn near(&self) -> Option<&'static str> {
        self.near
    }
}

fn advice(near: &Option<&str>) -> String {
    match near {
        Some(near) => format!("did you mean '{near}'?"),
        None => "run 'exactop columns' to list them".into(),
    }
}

/// Finds a column by its name in the reference or by its title, ignoring case (`%CPU`, `command`).
///
/// # Errors
/// No column matches; the message suggests the nearest name.
pub fn find(name: &str) -> Result<&'static Column, UnknownColumn> {
    let is = |word: fn(&Column) -> &'static str| {
        COLUMNS.iter().find(move |c| word(c).eq_ignore_ascii_case(name))
    };
    is(|c| c.name).or_else(|| is(|c| c.title)).ok_or_else(|| {
        let names = COLUMNS.iter().flat_map(|c| [c.name, c.title]);
        UnknownColumn { name: name.into(), near: nearest(name, names) }
    })
}

/// The registry's entries of these columns.
pub fn by_ids(ids: &[ColumnId]) -> Vec<&'static Column> {
    ids.iter().map(|id| id.column()).collect()
}

/// What the source reads for these columns; with `command_line` command lines are shown.
pub fn needs<'a>(columns: impl IntoIterator<Item = &'a Column>, command_line: bool) -> Needs {
    columns.into_iter().fold(Needs::NONE, |needs, c| needs | c.needs(command_line))
}
