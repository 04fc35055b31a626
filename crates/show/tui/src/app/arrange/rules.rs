//! Which rows are kept, and in which order. Pure.

use super::against::Rows;
use super::line::At;
use exactop_model::columns::filter::Filter;
use exactop_model::columns::sort::{Ranked, SortBy};
use exactop_model::columns::{Column, Context};
use exactop_model::frame::belonging::{Belonging, Members};
use exactop_model::frame::value::Datum;
use exactop_model::{Counter, Missing, Row, RowKind, TaskKey, Value};
use std::collections::HashSet;

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
#[allow(missing_docs)] // Their names say it.
pub struct Rules<'a> {
    /// Threads instead of processes.
    pub threads: bool,
    /// Children under their parents.
    pub tree: bool,
    /// No rows that used no CPU.
    pub hide_idle: bool,
    /// No kernel threads, nor what exited under them.
    pub hide_kernel: bool,
    /// The order.
    pub sort: SortBy,
    /// All must hold.
    pub filters: &'a [Filter],
    pub user: Option<&'a UserFilter>,
    /// These alone.
    pub members_of: Option<&'a Belonging>,
    /// In the tree: the rows whose branches are folded into them.
    pub folded: Option<&'a HashSet<TaskKey>>,
    /// What values depend on.
    pub context: Context,
}

/// The rows that may stand on the screen.
pub(super) struct Chosen {
    /// Live rows of the wanted kind, and exited groups that pass, in order.
    pub(super) order: Vec<At>,
    /// Which of all live rows pass.
    pub(super) kept: Vec<bool>,
}

impl Rules<'_> {
    /// One row a thread, or one a process.
    pub(super) fn kind(&self) -> RowKind {
        if self.threads {
            RowKind::Task
        } else {
            RowKind::Process
        }
    }

    /// Chooses and orders; ties by PID, so that a screen does not jump.
    pub(super) fn choose(&self, rows: Rows) -> Chosen {
        let kind = self.kind();
        let frame = rows.frame;
        let known = Known {
            members: self.members_of.map(|whose| whose.among(frame)),
            kernel: match self.hide_kernel {
                true => of_kernel(&frame.rows),
                false => HashSet::new(),
            },
        };
        let live = (0..frame.rows.len()).filter(|&i| frame.rows[i].kind == kind).map(At::Live);
        let others = (0..frame.exited.len()).map(At::Exited);
        let others = others.chain(rows.against.iter().flat_map(|against| against.gone()));
        let mut order: Vec<At> =
            live.chain(others.filter(|at| self.keeps(rows, &known, *at))).collect();
        order.sort_by_cached_key(|at| {
            let row = rows.row(*at);
            let tie = (row.key.tgid, row.key.tid, row.ident.ppid, row.ident.comm);
            Ranked::new(self.sort_value(rows, *at), self.sort.descending, tie)
        });
        let kept = frame.rows.iter().enumerate();
        let kept = kept.map(|(i, row)| row.kind == kind && self.keeps(rows, &known, At::Live(i)));
        Chosen { order, kept: kept.collect() }
    }

    /// Not every source says whose the exited tasks of a group were: where it does not, they are shown.
    fn keeps(&self, rows: Rows, known: &Known, at: At) -> bool {
        let row = rows.row(at);
        if known.members.as_ref().is_some_and(|members| !members.has(row)) {
            return false;
        }
        let of_group = row.kind == RowKind::Exited;
        let user = self.user.zip(row.uid()).is_none_or(|(u, uid)| (uid == u.uid) != u.negated);
        let busy = |row: &Row| match of_group {
            true => row.delta.get(Counter::RunNs) != Some(0),
            false => row.letter == 'R' || row.run_with_exited_ns() != Some(0),
        };
        let idle = self.hide_idle && !busy(row) && !rows.versus(at).is_some_and(|v| v.did(busy));
        let passes = |filter: &Filter| filter.holds(self.value(rows, at, filter.column()));
        let kernel = self.hide_kernel && is_of_kernel(known, row);
        user && !idle && !kernel && self.filters.iter().all(passes)
    }

    /// What a column shows.
    fn value(&self, rows: Rows, at: At, column: &Column) -> Value {
        match rows.versus(at) {
            Some(versus) => versus.value(rows.row(at), column, &self.context),
            None => (column.value)(rows.row(at), &self.context),
        }
    }

    /// By CPU time a parent stands where its lines belong together: those of its exited
    /// children come directly below it.
    fn sort_value(&self, rows: Rows, at: At) -> Value {
        let row = rows.row(at);
        let column = self.sort.column;
        match (rows.versus(at), row.run_with_exited_ns()) {
            (_, None) => self.value(rows, at, column),
            _ if !column.of_branch => self.value(rows, at, column),
            (None, Some(ns)) => Value::Known(Datum::Ns(ns)),
            (Some(versus), Some(_)) => versus.change(row, &self.context, |row, context| {
                let ns = row.run_with_exited_ns();
                Value::share(ns, context.window_ns, Missing::Source)
            }),
        }
    }
}

/// What is looked up once for all rows.
struct Known<'a> {
    members: Option<Members<'a>>,
    /// The processes that are the kernel's, by their numbers.
    kernel: HashSet<u32>,
}

fn of_kernel(rows: &[Row]) -> HashSet<u32> {
    rows.iter().filter(|row| row.ident.kthread).map(|row| row.key.tgid).collect()
}

/// Whether a row is of the kernel's threads. What exited is, where its living ancestor is: the kernel's threads are
/// children of one.
fn is_of_kernel(known: &Known, row: &Row) -> bool {
    match row.kind {
        RowKind::Exited => known.kernel.contains(&row.ident.ppid),
        _ => row.ident.kthread,
    }
}
