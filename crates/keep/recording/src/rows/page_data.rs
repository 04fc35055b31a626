//! What is measured only while a view displays it.

use super::group_file::{group_files, group_files_of, GroupFiles};
use super::waited::{waited, waited_of, Waited};
use crate::error::FrameError;
use crate::schema::TableId;
use crate::strings::Strings;
use crate::values::Row;

/// On-demand figures of a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PageData {
    /// Waits of the process whose page was open.
    pub waits: Option<Waited>,
    /// Values of the control groups' files, while the page of groups was open.
    pub groups: Option<GroupFiles>,
}

impl PageData {
    /// True if nothing was displayed.
    pub fn is_empty(&self) -> bool {
        self.waits.is_none() && self.groups.is_none()
    }

    pub fn rows(&self, strings: &mut Strings) -> Vec<(TableId, Vec<Row>)> {
        let mut tables = Vec::new();
        tables.extend(self.waits.iter().flat_map(|waits| waited(waits, strings)));
        let groups = self.groups.as_ref();
        tables.extend(groups.map(|groups| (TableId::GroupFile, group_files(groups, strings))));
        tables
    }

    /// Reads the tables of a frame.
    pub fn from_tables<'a>(
        rows: impl Fn(TableId) -> &'a [Row],
        strings: &Strings,
    ) -> Result<PageData, FrameError> {
        let groups = group_files_of(rows(TableId::GroupFile), strings)?;
        Ok(PageData { waits: waited_of(rows, strings)?, groups })
    }

    /// Joins these figures with those of the next window; figures that either window lacks are
    /// unknown.
    pub fn and(self, later: PageData) -> PageData {
        let waits = self.waits.zip(later.waits);
        let groups = self.groups.zip(later.groups);
        PageData {
            waits: waits.and_then(|(waits, later)| waits.and(later)),
            groups: groups.map(|(groups, later)| GroupFiles { after: later.after, ..groups }),
        }
    }
}
