//! What is measured only while somebody looks at it.

use super::group_file::{group_files, group_files_of, GroupFiles};
use super::waited::{waited, waited_of, Waited};
use crate::error::Bad;
use crate::schema::Which;
use crate::strings::Strings;
use crate::values::Row;

/// Of a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Looked {
    /// What the process waited for whose page was open.
    pub waits: Option<Waited>,
    /// What the files of control groups said, while their page was.
    pub groups: Option<GroupFiles>,
}

impl Looked {
    /// Nobody looked at anything.
    pub fn is_empty(&self) -> bool {
        self.waits.is_none() && self.groups.is_none()
    }

    /// As tables.
    pub fn rows(&self, strings: &mut Strings) -> Vec<(Which, Vec<Row>)> {
        let mut tables = Vec::new();
        tables.extend(self.waits.iter().flat_map(|waits| waited(waits, strings)));
        let groups = self.groups.as_ref();
        tables.extend(groups.map(|groups| (Which::GroupFile, group_files(groups, strings))));
        tables
    }

    /// What tables of a frame tell.
    pub fn of<'a>(rows: impl Fn(Which) -> &'a [Row], strings: &Strings) -> Result<Looked, Bad> {
        let groups = group_files_of(rows(Which::GroupFile), strings)?;
        Ok(Looked { waits: waited_of(rows, strings)?, groups })
    }

    /// With those of the window after it; what nobody looked at in both is not known.
    pub fn and(self, later: Looked) -> Looked {
        let waits = self.waits.zip(later.waits);
        let groups = self.groups.zip(later.groups);
        Looked {
            waits: waits.and_then(|(waits, later)| waits.and(later)),
            groups: groups.map(|(groups, later)| GroupFiles { after: later.after, ..groups }),
        }
    }
}
