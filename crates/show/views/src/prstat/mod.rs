//! Frames as prstat(8) of illumos prints them: the same headings, widths and rounding. Microstates
//! are one character wider: each has a tenth, so that a printed row adds up to 100.0.
//!
//! The source differs: CPU is the window's share and not a decaying average, the first report
//! covers a real window and not whole lives, and zones are cgroups. A figure that this kernel does
//! not provide is `-`, never 0.

pub mod figures;
mod groups;
mod order;
mod rows;

use exactop_model::{Feed, Frame, Needs, Row};
use exactop_model::{FrameOptions, IdleRows};
use std::collections::HashSet;

/// Sort key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// CPU time; with microstates USR plus SYS.
    #[default]
    Cpu,
    /// CPU time of the whole life.
    Time,
    /// Virtual size.
    Size,
    /// Resident size.
    Rss,
    /// Priority.
    Pri,
}

/// Grouping of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub enum GroupBy {
    User,
    /// The cgroup, Linux's nearest thing to a zone.
    Cgroup,
}

/// Lists of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportSections {
    /// Processes or threads.
    #[default]
    Rows,
    /// Groups only.
    Groups(GroupBy),
    /// Processes or threads above, groups below.
    Both(GroupBy),
}

impl ReportSections {
    fn has_rows(self) -> bool {
        !matches!(self, ReportSections::Groups(_))
    }

    fn group(self) -> Option<GroupBy> {
        match self {
            ReportSections::Rows => None,
            ReportSections::Groups(group) | ReportSections::Both(group) => Some(group),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct ReportStyle {
    /// Show microstates instead of sizes and times.
    pub microstates: bool,
    /// A line for each thread.
    pub threads: bool,
    pub lists: ReportSections,
    /// Sort key.
    pub key: Order,
    /// Smallest first.
    pub ascending: bool,
    /// Users as numbers.
    pub numeric: bool,
    /// Cut long names, so that columns stay in line.
    pub cut: bool,
    /// The columns of the screen. On a narrow screen the least important columns are left out.
    /// `None`: unlimited.
    pub width: Option<usize>,
}

/// The selected rows; an empty list selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowSelection {
    /// PIDs.
    pub pids: Vec<u32>,
    /// Effective users.
    pub users: Vec<u32>,
    /// CPUs on which the rows run or last ran.
    pub cpus: Vec<u32>,
    /// Cgroups: paths, or ids as text.
    pub cgroups: Vec<String>,
}

/// Most lines of each list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Processes or threads.
    pub top: usize,
    /// Groups.
    pub bottom: usize,
}

/// One list of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Part {
    /// The heading, at most 80 columns, with its trailing blanks.
    pub header: String,
    pub lines: Vec<String>,
    /// Most lines.
    pub room: usize,
}

/// A report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The lists.
    pub parts: Vec<Part>,
    /// The last line.
    pub total: String,
}

impl Report {
    /// The report as plain lines.
    pub fn text(&self) -> String {
        let lines = self.parts.iter().flat_map(|part| {
            std::iter::once(part.header.as_str()).chain(part.lines.iter().map(String::as_str))
        });
        lines.chain([self.total.as_str()]).flat_map(|line| [line, "\n"]).collect()
    }
}

impl ReportStyle {
    /// How to arrange frames for the report.
    pub fn options(&self) -> FrameOptions {
        FrameOptions { threads: self.threads, still: IdleRows::All, ..FrameOptions::default() }
    }

    /// Figures that the report needs of the source.
    pub fn needs(&self) -> Needs {
        let threads = if self.threads { Needs::THREADS } else { Needs::NONE };
        let split = if self.microstates { Needs::SPLIT } else { Needs::NONE };
        Needs::MACHINE | threads | split
    }

    /// Selects, sorts and prints the rows of a frame; `feed` reads figures that only the shown
    /// lines need.
    pub fn report(
        &self,
        frame: Frame,
        chosen: &RowSelection,
        room: Room,
        feed: &mut dyn Feed,
    ) -> Report {
        let mut frame = frame;
        let mut rows = std::mem::take(&mut frame.rows);
        rows.retain(|row| chosen.has(row));
        if self.lists.group() == Some(GroupBy::Cgroup) || !chosen.cgroups.is_empty() {
            read(feed, &mut rows, Needs::CGROUP);
            rows.retain(|row| chosen.has_cgroup(row));
        }
        let total = total(&frame, &rows, self.threads);
        read(feed, &mut rows, order::needs(self.key));
        let mut parts = Vec::new();
        let mut bottom = None;
        if let Some(group) = self.lists.group() {
            read(feed, &mut rows, Needs::STAT | Needs::STATM | Needs::USER);
            bottom = Some(groups::part(self, &frame, &rows, group, room.bottom));
        }
        if self.lists.has_rows() && room.top > 0 {
            order::sort(self, &mut rows);
            rows.truncate(room.top);
            read(feed, &mut rows, rows::needs(self));
            parts.push(rows::part(self, &frame, &rows, room.top));
        }
        parts.extend(bottom);
        Report { parts, total }
    }
}

impl RowSelection {
    fn has(&self, row: &Row) -> bool {
        let cpu = || row.doing.cpu.is_some_and(|cpu| self.cpus.contains(&cpu));
        (self.pids.is_empty() || self.pids.contains(&row.key.tgid))
            && (self.users.is_empty() || self.users.contains(&row.ident.uid))
            && (self.cpus.is_empty() || cpu())
    }

    fn has_cgroup(&self, row: &Row) -> bool {
        let id = row.ident.cgroup_id.map(|id| id.to_string());
        let path = row.detail.cgroup.as_deref().ok();
        let is = |name: &String| Some(name) == id.as_ref() || Some(name.as_bytes()) == path;
        self.cgroups.is_empty() || self.cgroups.iter().any(is)
    }
}

fn read(feed: &mut dyn Feed, rows: &mut [Row], needs: Needs) {
    let mut rows: Vec<&mut Row> = rows.iter_mut().collect();
    if needs != Needs::NONE && !rows.is_empty() {
        feed.details(&mut rows, needs);
    }
}

fn total(frame: &Frame, rows: &[Row], threads: bool) -> String {
    let processes: HashSet<u32> = rows.iter().map(|row| row.key.tgid).collect();
    let lwps = match threads {
        true => rows.len() as u64,
        false => rows.iter().map(|row| u64::from(row.threads.unwrap_or(1))).sum(),
    };
    let load = match frame.system.load {
        Some([one, five, fifteen]) => format!("{one:.2}, {five:.2}, {fifteen:.2}"),
        None => "-".into(),
    };
    format!("Total: {} processes, {lwps} lwps, load averages: {load}", processes.len())
}
