//! The list of users or cgroups: sums over their processes.

use super::rows::{machine_share, user};
use super::{figures, order, GroupBy, Part, ReportStyle};
use exactop_model::{Frame, Row};
use std::collections::{HashMap, HashSet};

const USERS: &str =
    " NPROC USERNAME  SWAP   RSS MEMORY      TIME  CPU                             ";
const USERS_THREADS: &str =
    "  NLWP USERNAME  SWAP   RSS MEMORY      TIME  CPU                             ";
const CGROUPS: &str =
    "  CGID    NPROC  SWAP   RSS MEMORY      TIME  CPU CGROUP                      ";
const CGROUPS_THREADS: &str =
    "  CGID     NLWP  SWAP   RSS MEMORY      TIME  CPU CGROUP                      ";

/// The width of CGROUP.
const CGROUP_WIDTH: usize = 28;

/// The sums of one group.
struct Sums {
    name: String,
    id: Option<u64>,
    number: u32,
    size: u64,
    rss: u64,
    time_ns: u64,
    cpu: f64,
    key: f64,
}

/// The list over all rows that were chosen.
pub(super) fn part(
    style: &ReportStyle,
    frame: &Frame,
    rows: &[Row],
    by: GroupBy,
    room: usize,
) -> Part {
    let mut groups = sums(style, frame, rows, by);
    let scale = Scale::new(frame, &groups);
    groups.sort_by(|a, b| order::direction(style, a.key, b.key).then_with(|| a.name.cmp(&b.name)));
    groups.truncate(room);
    let header = match (by, style.threads) {
        (GroupBy::User, false) => USERS,
        (GroupBy::User, true) => USERS_THREADS,
        (GroupBy::Cgroup, false) => CGROUPS,
        (GroupBy::Cgroup, true) => CGROUPS_THREADS,
    };
    let lines = groups.iter().map(|group| line(group, by, &scale)).collect();
    Part { header, lines, room }
}

fn sums(style: &ReportStyle, frame: &Frame, rows: &[Row], by: GroupBy) -> Vec<Sums> {
    let mut sums: HashMap<Vec<u8>, Sums> = HashMap::new();
    let mut seen = HashSet::new();
    for row in rows {
        let sum = sums.entry(which(row, by)).or_insert_with(|| Sums {
            name: name(style, row, by),
            id: row.ident.cgroup_id,
            number: 0,
            size: 0,
            rss: 0,
            time_ns: 0,
            cpu: 0.0,
            key: 0.0,
        });
        sum.number += 1;
        // Threads of a process share its memory.
        if seen.insert(row.key.tgid) {
            sum.size += row.detail.virt.unwrap_or(0);
            sum.rss += row.detail.res.unwrap_or(0);
        }
        sum.time_ns += row.detail.time_ns.unwrap_or(0);
        sum.cpu += machine_share(frame, row).unwrap_or(0.0);
        sum.key += order::key(style, row);
    }
    sums.into_values().collect()
}

fn which(row: &Row, by: GroupBy) -> Vec<u8> {
    match by {
        GroupBy::User => row.ident.uid.to_ne_bytes().into(),
        GroupBy::Cgroup => row.detail.cgroup.clone().unwrap_or_default(),
    }
}

fn name(style: &ReportStyle, row: &Row, by: GroupBy) -> String {
    match (by, &row.detail.cgroup) {
        (GroupBy::User, _) => user(style, row),
        (GroupBy::Cgroup, Ok(path)) => {
            figures::name(&String::from_utf8_lossy(path), CGROUP_WIDTH, style.cut)
        }
        (GroupBy::Cgroup, Err(_)) => "-".into(),
    }
}

/// Sums over groups that pass 100 % are scaled down to it, so that shares of a whole stay shares:
/// shared pages are counted once for each process that has them.
struct Scale {
    cpu: f64,
    memory: f64,
    memory_total: u64,
}

impl Scale {
    fn new(frame: &Frame, groups: &[Sums]) -> Scale {
        let memory_total = frame.system.memory.map_or(0, |memory| memory.total);
        let down = |sum: f64| if sum >= 100.0 { 100.0 / sum } else { 1.0 };
        let mut scale = Scale { cpu: 1.0, memory: 1.0, memory_total };
        let memory = groups.iter().map(|group| scale.memory(group)).sum();
        scale.cpu = down(groups.iter().map(|group| group.cpu).sum());
        scale.memory = down(memory);
        scale
    }

    fn memory(&self, group: &Sums) -> f64 {
        match self.memory_total {
            0 => 0.0,
            total => group.rss as f64 * 100.0 / total as f64 * self.memory,
        }
    }
}

fn line(group: &Sums, by: GroupBy, scale: &Scale) -> String {
    let (swap, rss) = (figures::size(group.size), figures::size(group.rss));
    let memory = match scale.memory_total {
        0 => "-".into(),
        _ => figures::percent(scale.memory(group)),
    };
    let time = figures::time(group.time_ns);
    let cpu = figures::percent(group.cpu * scale.cpu);
    let figures = format!("{swap:>5} {rss:>5}   {memory:>3}% {time:>9} {cpu:>3}%");
    let (number, name) = (group.number, &group.name);
    match by {
        GroupBy::User => format!("{number:6} {name:<8} {figures}"),
        GroupBy::Cgroup => {
            let id = group.id.map_or("-".into(), |id| id.to_string());
            format!("{id:>6} {number:8} {figures} {name:>28}")
        }
    }
}
