//! What is read only for what a view displays or a recorder names.

use super::group_file::{group_files, group_files_of, GroupFiles};
use super::user_name::{user_name, user_name_of};
use super::waited::{waited, waited_of, Waited};
use crate::error::FrameError;
use crate::schema::TableId;
use crate::strings::Strings;
use crate::values::Row;
use std::collections::BTreeMap;

/// On-demand figures of a window, and names beside its rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PageData {
    /// Waits of the process whose page was open.
    pub waits: Option<Waited>,
    /// Values of the control groups' files, while the page of groups was open.
    pub groups: Option<GroupFiles>,
    /// Names of users, by uid: those of sums and of exited groups.
    pub users: BTreeMap<u32, String>,
}

impl PageData {
    /// True if there is nothing to record.
    pub fn is_empty(&self) -> bool {
        self.waits.is_none() && self.groups.is_none() && self.users.is_empty()
    }

    pub fn rows(&self, strings: &mut Strings) -> Vec<(TableId, Vec<Row>)> {
        let mut tables = Vec::new();
        tables.extend(self.waits.iter().flat_map(|waits| waited(waits, strings)));
        let groups = self.groups.as_ref();
        tables.extend(groups.map(|groups| (TableId::GroupFile, group_files(groups, strings))));
        let users = self.users.iter().map(|(&uid, name)| user_name(uid, name, strings));
        let users: Vec<Row> = users.collect();
        tables.extend((!users.is_empty()).then_some((TableId::UserName, users)));
        tables
    }

    /// Reads the tables of a frame.
    pub fn from_tables<'a>(
        rows: impl Fn(TableId) -> &'a [Row],
        strings: &Strings,
    ) -> Result<PageData, FrameError> {
        let groups = group_files_of(rows(TableId::GroupFile), strings)?;
        let users = rows(TableId::UserName).iter().map(|row| user_name_of(row, strings));
        let users = users.collect::<Result<_, _>>()?;
        Ok(PageData { waits: waited_of(rows, strings)?, groups, users })
    }

    /// Joins these figures with those of the next window; figures that either window lacks are
    /// unknown.
    pub fn and(self, later: PageData) -> PageData {
        let waits = self.waits.zip(later.waits);
        let groups = self.groups.zip(later.groups);
        PageData {
            waits: waits.and_then(|(waits, later)| waits.and(later)),
            groups: groups.map(|(groups, later)| GroupFiles { after: later.after, ..groups }),
            users: self.users.into_iter().chain(later.users).collect(),
        }
    }
}
