//! Which rows stand on the screen and in which order: from a frame to lines. Pure.

use super::forest;
use super::shares::Shares;
use exactop_model::columns::Context;
use exactop_model::filter::Filter;
use exactop_model::sort::{compare, SortBy};
use exactop_model::value::Datum;
use exactop_model::{Comm, Counter, Frame, Row, RowKind, TaskKey, Value};
use std::cmp::Ordering;
use std::collections::HashMap;

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
pub enum At {
    /// In `Frame::rows`.
    Live(usize),
    /// In `Frame::exited`.
    Exited(usize),
}

impl At {
    /// The row.
    pub fn row(self, frame: &Frame) -> &Row {
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
    pub at: At,
    /// The branches of the tree before its command; `└ ` before an exited group under its
    /// parent.
    pub prefix: String,
    /// %CPU in tenths, rounded so that the column adds up over all rows.
    pub cpu_tenths: Option<i64>,
    /// CPU+ in tenths, the sum of what the rows it stands for show; in the tree, those of the
    /// whole branch.
    pub cpu_plus_tenths: Option<i64>,
}

/// Whose rows are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserFilter {
    /// As it was typed, with `!` where all others are meant.
    pub text: String,
    /// The user.
    pub uid: u32,
    /// All others.
    pub negated: bool,
}

/// How to choose and order.
pub struct Rules<'a> {
    /// Threads instead of processes.
    pub threads: bool,
    /// Children under their parents.
    pub tree: bool,
    /// No rows that used no CPU.
    pub hide_idle: bool,
    /// The order.
    pub sort: SortBy,
    /// All must hold.
    pub filters: &'a [Filter],
    /// Whose.
    pub user: Option<&'a UserFilter>,
    /// What values depend on.
    pub context: Context,
}

impl Rules<'_> {
    pub(super) fn keeps_live(&self, row: &Row) -> bool {
        let user = self.user.is_none_or(|u| (row.ident.uid == u.uid) != u.negated);
        let idle = self.hide_idle && row.letter != 'R' && cpu_with_exited(row) == Some(0);
        user && !idle && self.passes_filters(row)
    }

    /// The kernel does not say whose the exited tasks of a group were: with a user filter they
    /// show only under a parent that does.
    pub(super) fn keeps_exited(&self, row: &Row, has_parent: bool) -> bool {
        let idle = self.hide_idle && row.delta.get(Counter::RunNs) == Some(0);
        (has_parent || self.user.is_none()) && !idle && self.passes_filters(row)
    }

    fn passes_filters(&self, row: &Row) -> bool {
        self.filters.iter().all(|f| f.keeps(row, &self.context))
    }

    pub(super) fn is_wanted_kind(&self, row: &Row) -> bool {
        row.kind == if self.threads { RowKind::Task } else { RowKind::Process }
    }

    /// By CPU time a parent stands where its lines belong together: those of its exited
    /// children come directly below it.
    fn sort_value(&self, row: &Row) -> Value {
        match self.sort.column.id {
            "cpu_pct" | "run_ns" => match cpu_with_exited(row) {
                Some(ns) => Value::Known(Datum::Ns(ns)),
                None => (self.sort.column.value)(row, &self.context),
            },
            _ => (self.sort.column.value)(row, &self.context),
        }
    }

    /// Sorts; ties by PID, so that a screen does not jump.
    pub(super) fn sort(&self, frame: &Frame, list: &mut [At]) {
        list.sort_by_cached_key(|at| {
            let row = at.row(frame);
            Key {
                value: self.sort_value(row),
                descending: self.sort.descending,
                tie: (row.key.tgid, row.key.tid, row.ident.ppid, row.ident.comm),
            }
        });
    }
}

struct Key {
    value: Value,
    descending: bool,
    tie: (u32, u32, u32, Comm),
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        compare(&self.value, &other.value, self.descending).then_with(|| self.tie.cmp(&other.tie))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key {}

/// What a row used itself and what exited below it.
pub(super) fn cpu_with_exited(row: &Row) -> Option<u64> {
    let own = row.delta.get(Counter::RunNs)?;
    Some(row.children.and_then(|c| c.get(Counter::RunNs)).map_or(own, |exited| own + exited))
}

/// The lines of a frame.
pub fn arrange(frame: &Frame, rules: &Rules) -> Vec<Line> {
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
pub(super) fn leaders(frame: &Frame, shown: impl Iterator<Item = usize>) -> HashMap<u32, usize> {
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

pub(super) fn line(at: At, prefix: String) -> Line {
    Line { at, prefix, cpu_tenths: None, cpu_plus_tenths: None }
}

/// Exited groups under one parent: the largest first.
pub(super) fn by_cpu(frame: &Frame, groups: &mut [At]) {
    groups.sort_by_key(|at| {
        let row = at.row(frame);
        (std::cmp::Reverse(row.delta.get(Counter::RunNs)), row.ident.comm)
    });
}
