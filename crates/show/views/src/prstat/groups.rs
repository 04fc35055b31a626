//! The list of users or cgroups with sums over their processes.

use super::rows::{share, user};
use super::{figures, order, GroupBy, Part, ReportStyle};
use crate::sum::Sum;
use exactop_model::{Counter, Frame, Missing, Row};
use std::collections::{HashMap, HashSet};

const USERS: &str =
    " NPROC USERNAME  SWAP   RSS MEMORY      TIME  CPU                             ";
const USERS_THREADS: &str =
    "  NLWP USERNAME  SWAP   RSS MEMORY      TIME  CPU                             ";
const CGROUPS: &str =
    "  CGID    NPROC  SWAP   RSS MEMORY      TIME  CPU CGROUP                      ";
const CGROUPS_THREADS: &str =
    "  CGID     NLWP  SWAP   RSS MEMORY      TIME  CPU CGROUP                      ";

/// Width of CGROUP, and of the columns before it.
const CGROUP_WIDTH: usize = 28;
const BEFORE_CGROUP: usize = 50;

fn cgroup_width(style: &ReportStyle) -> usize {
    let left = style.width.map_or(CGROUP_WIDTH, |width| width.saturating_sub(BEFORE_CGROUP));
    left.clamp(8, CGROUP_WIDTH)
}

struct Sums {
    name: String,
    id: Option<u64>,
    number: u32,
    size: Sum,
    rss: Sum,
    time_ns: Sum,
    run_ns: Sum,
    key: f64,
}

/// The list over all selected rows.
pub(super) fn part(
    style: &ReportStyle,
    frame: &Frame,
    rows: &[Row],
    by: GroupBy,
    room: usize,
) -> Part {
    let mut groups = sums(style, rows, by);
    let scale = Scale::new(frame, &groups);
    groups.sort_by(|a, b| order::direction(style, a.key, b.key).then_with(|| a.name.cmp(&b.name)));
    groups.truncate(room);
    let header = match (by, style.threads) {
        (GroupBy::User, false) => USERS,
        (GroupBy::User, true) => USERS_THREADS,
        (GroupBy::Cgroup, false) => CGROUPS,
        (GroupBy::Cgroup, true) => CGROUPS_THREADS,
    };
    let width = cgroup_width(style);
    let lines = groups.iter().map(|group| line(group, by, &scale, width)).collect();
    Part { header: header.into(), lines, room }
}

fn sums(style: &ReportStyle, rows: &[Row], by: GroupBy) -> Vec<Sums> {
    let mut sums: HashMap<GroupKey, Sums> = HashMap::new();
    let mut seen = HashSet::new();
    let paths: HashMap<u64, &Vec<u8>> = rows
        .iter()
        .filter_map(|row| row.ident.cgroup_id.zip(row.detail.cgroup.as_ref().ok()))
        .collect();
    for row in rows {
        let sum =
            sums.entry(group_key(row, by, &paths)).or_insert_with(|| Sums::new(style, row, by));
        // If a row's path cannot be read, another row of the group may name it.
        if sum.name == "-" {
            sum.name = name(style, row, by);
        }
        sum.id = sum.id.or(row.ident.cgroup_id);
        sum.number += 1;
        // Threads of a process share its memory.
        if seen.insert(row.key.tgid) {
            sum.size.add(detail(row.detail.virt));
            sum.rss.add(detail(row.detail.res));
        }
        sum.time_ns.add(detail(row.detail.time_ns));
        sum.run_ns.add(Sum::new(row.delta.get(Counter::RunNs)));
        sum.key += order::key(style, row);
    }
    sums.into_values().collect()
}

impl Sums {
    fn new(style: &ReportStyle, row: &Row, by: GroupBy) -> Sums {
        Sums {
            name: name(style, row, by),
            id: row.ident.cgroup_id,
            number: 0,
            size: Sum::default(),
            rss: Sum::default(),
            time_ns: Sum::default(),
            run_ns: Sum::default(),
            key: 0.0,
        }
    }
}

fn detail(detail: Result<u64, Missing>) -> Sum {
    match detail {
        Err(Missing::NotApplicable) => Sum::default(),
        detail => Sum::new(detail.ok()),
    }
}

/// The common part of the rows of a group.
#[derive(PartialEq, Eq, Hash)]
enum GroupKey {
    User(u32),
    /// A cgroup by its path. If a row's own path cannot be read, the path of others with the same
    /// number.
    Path(Vec<u8>),
    /// A cgroup whose path is unknown.
    Number(Option<u64>),
}

fn group_key(row: &Row, by: GroupBy, paths: &HashMap<u64, &Vec<u8>>) -> GroupKey {
    let id = row.ident.cgroup_id;
    match by {
        GroupBy::User => GroupKey::User(row.ident.uid),
        GroupBy::Cgroup => {
            let path = row.detail.cgroup.as_ref().ok();
            let path = path.or_else(|| id.and_then(|id| paths.get(&id).copied()));
            path.map_or(GroupKey::Number(id), |path| GroupKey::Path(path.clone()))
        }
    }
}

fn name(style: &ReportStyle, row: &Row, by: GroupBy) -> String {
    match (by, &row.detail.cgroup) {
        (GroupBy::User, _) => user(style, row),
        (GroupBy::Cgroup, Ok(path)) => {
            figures::name(&String::from_utf8_lossy(path), cgroup_width(style), style.cut)
        }
        (GroupBy::Cgroup, Err(_)) => "-".into(),
    }
}

/// Scales sums over groups that exceed 100 % down to 100 %: shared pages count once for each
/// process that has them.
struct Scale {
    cpu: f64,
    memory: f64,
    /// CPU time of the machine in the window.
    whole_ns: u64,
    memory_total: Option<u64>,
}

impl Scale {
    fn new(frame: &Frame, groups: &[Sums]) -> Scale {
        let memory_total = frame.system.memory.map(|memory| memory.total);
        let whole_ns = frame.length_ns() * frame.cpus.len() as u64;
        let down = |sum: f64| if sum >= 100.0 { 100.0 / sum } else { 1.0 };
        let mut scale = Scale { cpu: 1.0, memory: 1.0, whole_ns, memory_total };
        let memory = groups.iter().filter_map(|group| scale.memory(group)).sum();
        scale.cpu = down(groups.iter().filter_map(|group| scale.cpu(group)).sum());
        scale.memory = down(memory);
        scale
    }

    fn memory(&self, group: &Sums) -> Option<f64> {
        Some(share(group.rss.known()?, self.memory_total?)? * self.memory)
    }

    fn cpu(&self, group: &Sums) -> Option<f64> {
        Some(share(group.run_ns.known()?, self.whole_ns)? * self.cpu)
    }
}

/// A line; each figure carries a mark if a row's figure is missing in it.
fn line(group: &Sums, by: GroupBy, scale: &Scale, cgroup_width: usize) -> String {
    let or_unknown = |text: Option<String>| text.unwrap_or("-".into());
    let cell = |sum: Sum, text: fn(u64) -> String| or_unknown(sum.known().map(text));
    let percent = |share: Option<f64>| or_unknown(share.map(figures::percent));
    let figures = format!(
        "{:>5}{}{:>5}{mark}  {:>3}%{mark}{:>9}{}{:>3}%{}",
        cell(group.size, figures::size),
        group.size.mark(),
        cell(group.rss, figures::size),
        percent(scale.memory(group)),
        cell(group.time_ns, figures::time),
        group.time_ns.mark(),
        percent(scale.cpu(group)),
        group.run_ns.mark(),
        mark = group.rss.mark(),
    );
    let (number, name) = (group.number, &group.name);
    match by {
        GroupBy::User => format!("{number:6} {name:<8} {}", figures.trim_end()),
        GroupBy::Cgroup => {
            let id = group.id.map_or("-".into(), |id| id.to_string());
            format!("{id:>6} {number:8} {figures}{name:>cgroup_width$}")
        }
    }
}
