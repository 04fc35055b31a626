//! Which rows stand on the screen and in which order: a frame together with its lines. Pure.
//!
//! Where a line's row is in its frame is known here only (`At`). A frame and its lines are one
//! value, made and replaced as one, so a place in one frame cannot be used with another; what is
//! kept from one frame to the next is a [`RowId`].

mod forest;
mod rules;
mod shares;

pub use rules::{Rules, UserFilter};

use exactop_model::{Comm, Counter, Frame, Needs, Row, RowKind, TaskKey};
use shares::Shares;
use std::collections::{HashMap, HashSet};

/// A row as a person follows it from one frame to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowId {
    /// A process or a thread.
    Task(TaskKey),
    /// An exited group: living ancestor, name, cgroup, whole processes or only threads.
    Exited(u32, Comm, Option<u64>, bool),
}

impl RowId {
    /// The id of a row.
    pub fn of(row: &Row) -> RowId {
        match row.kind {
            RowKind::Exited => RowId::Exited(
                row.ident.ppid,
                row.ident.comm,
                row.ident.cgroup_id,
                row.exited_processes > 0,
            ),
            _ => RowId::Task(row.key),
        }
    }
}

/// Where a line's row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    /// In `Frame::rows`.
    Live(usize),
    /// In `Frame::exited`.
    Exited(usize),
}

impl At {
    /// The row.
    fn row(self, frame: &Frame) -> &Row {
        match self {
            At::Live(i) => &frame.rows[i],
            At::Exited(i) => &frame.exited[i],
        }
    }
}

/// A line of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its row.
    at: At,
    /// The branches of the tree before its command; `└ ` before an exited group under its
    /// parent.
    pub prefix: String,
    /// %CPU in tenths, rounded so that the column adds up over all rows.
    pub cpu_tenths: Option<i64>,
    /// CPU+ in tenths, the sum of what the rows it stands for show; in the tree, those of the
    /// whole branch.
    pub cpu_plus_tenths: Option<i64>,
}

/// A line of the table and its row.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The line.
    pub line: &'a Line,
    /// What it is of.
    pub row: &'a Row,
}

impl Entry<'_> {
    /// By what a person follows it.
    pub fn id(&self) -> RowId {
        RowId::of(self.row)
    }
}

/// Reads details for rows: the feed's [`exactop_model::Feed::details`].
pub type ReadDetails<'a> = &'a mut dyn FnMut(&mut [&mut Row], Needs);

/// A frame and the lines it is shown as.
#[derive(Debug)]
pub struct Arranged {
    frame: Frame,
    lines: Vec<Line>,
    threads: bool,
}

impl Arranged {
    /// Arranges a frame.
    pub fn new(frame: Frame, rules: &Rules) -> Arranged {
        let lines = lines_of(&frame, rules);
        Arranged { threads: rules.threads, lines, frame }
    }

    /// The frame, to be arranged another way, and whether it has a row for each thread.
    pub(super) fn take_apart(self) -> (Frame, bool) {
        (self.frame, self.threads)
    }

    /// The frame.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Whether the frame has a row for each thread.
    pub fn has_threads(&self) -> bool {
        self.threads
    }

    /// How many lines there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there is no line.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The n-th line.
    pub fn entry(&self, n: usize) -> Option<Entry<'_>> {
        self.lines.get(n).map(|line| self.of(line))
    }

    /// All lines.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = Entry<'_>> {
        self.lines.iter().map(|line| self.of(line))
    }

    fn of<'a>(&'a self, line: &'a Line) -> Entry<'a> {
        Entry { line, row: line.at.row(&self.frame) }
    }

    /// Where a row stands in the table now.
    pub fn place(&self, id: RowId) -> Option<usize> {
        self.entries().position(|entry| entry.id() == id)
    }

    /// The row of a task, in the table or not.
    pub fn task(&self, key: TaskKey) -> Option<&Row> {
        self.frame.rows.iter().find(|row| row.key == key)
    }

    /// Reads details for the rows of `count` lines from `from` on.
    pub(super) fn read_lines(
        &mut self,
        from: usize,
        count: usize,
        needs: Needs,
        read: ReadDetails,
    ) {
        let places = self.lines.iter().skip(from).take(count).filter_map(|line| match line.at {
            At::Live(i) => Some(i),
            At::Exited(_) => None,
        });
        let places: HashSet<usize> = places.collect();
        let rows = self.frame.rows.iter_mut().enumerate();
        let wanted = rows.filter(|(i, _)| places.contains(i)).map(|(_, row)| row);
        read_rows(wanted.collect(), needs, read);
    }

    /// Reads details for the rows that are wanted.
    pub(super) fn read_where(
        &mut self,
        wanted: impl Fn(&Row) -> bool,
        needs: Needs,
        read: ReadDetails,
    ) {
        let rows = self.frame.rows.iter_mut().filter(|row| wanted(row));
        read_rows(rows.collect(), needs, read);
    }
}

fn read_rows(mut rows: Vec<&mut Row>, needs: Needs, read: ReadDetails) {
    if !rows.is_empty() {
        read(&mut rows, needs);
    }
}

/// What a row used itself and what exited below it.
fn cpu_with_exited(row: &Row) -> Option<u64> {
    let own = row.delta.get(Counter::RunNs)?;
    Some(row.children.and_then(|c| c.get(Counter::RunNs)).map_or(own, |exited| own + exited))
}

/// The lines of a frame.
fn lines_of(frame: &Frame, rules: &Rules) -> Vec<Line> {
    let shares = Shares::new(frame, rules);
    let mut lines = match rules.tree {
        true => forest::lines(frame, rules, &shares),
        false => flat(frame, rules),
    };
    for line in &mut lines {
        let row = line.at.row(frame);
        line.cpu_tenths = shares.own(line.at, row);
        line.cpu_plus_tenths = line.cpu_plus_tenths.or_else(|| shares.with_exited(line.at, row));
    }
    lines
}

/// The leader's rows by process: under them stand exited groups and, in the tree, children.
fn leaders(frame: &Frame, shown: impl Iterator<Item = usize>) -> HashMap<u32, usize> {
    shown
        .filter(|&i| frame.rows[i].kind == RowKind::Process || frame.rows[i].key.is_leader())
        .map(|i| (frame.rows[i].key.tgid, i))
        .collect()
}

fn flat(frame: &Frame, rules: &Rules) -> Vec<Line> {
    let live: Vec<usize> = (0..frame.rows.len())
        .filter(|&i| rules.is_wanted_kind(&frame.rows[i]) && rules.keeps_live(&frame.rows[i]))
        .collect();
    let leaders = leaders(frame, live.iter().copied());
    let mut below: HashMap<u32, Vec<At>> = HashMap::new();
    let mut heads: Vec<At> = live.into_iter().map(At::Live).collect();
    for (i, row) in frame.exited.iter().enumerate() {
        let has_parent = leaders.contains_key(&row.ident.ppid);
        if !rules.keeps_exited(row, has_parent) {
            continue;
        }
        match has_parent {
            true => below.entry(row.ident.ppid).or_default().push(At::Exited(i)),
            false => heads.push(At::Exited(i)),
        }
    }
    rules.sort(frame, &mut heads);
    let mut lines = Vec::with_capacity(heads.len() + below.len());
    for at in heads {
        lines.push(line(at, String::new()));
        let row = at.row(frame);
        let is_leader = matches!(at, At::Live(i) if leaders.get(&row.key.tgid) == Some(&i));
        if let Some(mut groups) = is_leader.then(|| below.remove(&row.key.tgid)).flatten() {
            by_cpu(frame, &mut groups);
            let last = groups.len() - 1;
            lines.extend(
                groups
                    .into_iter()
                    .enumerate()
                    .map(|(i, at)| line(at, if i == last { "└ ".into() } else { "├ ".into() })),
            );
        }
    }
    lines
}

fn line(at: At, prefix: String) -> Line {
    Line { at, prefix, cpu_tenths: None, cpu_plus_tenths: None }
}

/// Exited groups under one parent: the largest first.
fn by_cpu(frame: &Frame, groups: &mut [At]) {
    groups.sort_by_key(|at| {
        let row = at.row(frame);
        (std::cmp::Reverse(row.delta.get(Counter::RunNs)), row.ident.comm)
    });
}
