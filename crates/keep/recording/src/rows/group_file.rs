//! Values of the kernel's files of control groups, at both ends of a window in which a live view
//! displayed them.

use super::cells::{Cells, Fields};
use crate::error::FrameError;
use crate::schema::TableId;
use crate::strings::Strings;
use crate::values::Row;
use exactop_model::cgroups::GroupSample;
use exactop_model::run::CpuStat;

/// All groups at the window's beginning and end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GroupFiles {
    pub before: Vec<GroupSample>,
    pub after: Vec<GroupSample>,
}

/// Group n at the beginning has key 2n, group n at the end has 2n + 1. So each file's value is
/// predicted from its value one window earlier.
pub(crate) fn group_files(files: &GroupFiles, strings: &mut Strings) -> Vec<Row> {
    let of = |groups: &[GroupSample], end: u64, strings: &mut Strings| -> Vec<Row> {
        let numbered = (0..).zip(groups);
        numbered.map(|(n, group)| put(2 * n + end, group, strings)).collect()
    };
    let mut rows = of(&files.before, 0, strings);
    rows.extend(of(&files.after, 1, strings));
    rows
}

fn put(key: u64, group: &GroupSample, strings: &mut Strings) -> Row {
    let GroupSample {
        name,
        id,
        stat,
        weight,
        max,
        allowed_cpus,
        cpus,
        pressure_some_ns,
        pressure_full_ns,
        processes,
    } = group;
    let CpuStat { usage_ns, user_ns, system_ns, nr_periods, nr_throttled, throttled_ns } = *stat;
    let mut cells = Cells::new(TableId::GroupFile.table(), strings);
    cells.text(Some(name.as_bytes())).uint(*id);
    for figure in [usage_ns, user_ns, system_ns, nr_periods, nr_throttled, throttled_ns] {
        cells.uint(figure);
    }
    cells
        .uint(*weight)
        .text(max.as_deref().map(str::as_bytes))
        .float(*allowed_cpus)
        .text(cpus.as_deref().map(str::as_bytes))
        .uint(*pressure_some_ns)
        .uint(*pressure_full_ns)
        .uint(*processes);
    cells.row(key)
}

/// Reads the table of a frame; `None` if no live view displayed groups.
pub(crate) fn group_files_of(
    rows: &[Row],
    strings: &Strings,
) -> Result<Option<GroupFiles>, FrameError> {
    if rows.is_empty() {
        return Ok(None);
    }
    let mut files = GroupFiles { before: Vec::new(), after: Vec::new() };
    for row in rows {
        let end = if row.key.is_multiple_of(2) { &mut files.before } else { &mut files.after };
        end.push(get(row, strings)?);
    }
    Ok(Some(files))
}

fn get(row: &Row, strings: &Strings) -> Result<GroupSample, FrameError> {
    let mut f = Fields::new(row, strings);
    let text = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    let name = text(f.text()?.ok_or(FrameError::Missing)?);
    let id = f.uint();
    let [usage_ns, user_ns, system_ns, nr_periods, nr_throttled, throttled_ns] =
        std::array::from_fn(|_| f.uint());
    Ok(GroupSample {
        name,
        id,
        stat: CpuStat { usage_ns, user_ns, system_ns, nr_periods, nr_throttled, throttled_ns },
        weight: f.uint(),
        max: f.text()?.map(text),
        allowed_cpus: f.float(),
        cpus: f.text()?.map(text),
        pressure_some_ns: f.uint(),
        pressure_full_ns: f.uint(),
        processes: f.uint(),
    })
}
