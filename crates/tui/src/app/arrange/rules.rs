//! Which rows are kept, and in which order. Pure.

use super::line::At;
use exactop_model::columns::Context;
use exactop_model::filter::Filter;
use exactop_model::sort::{Ranked, SortBy};
use exactop_model::value::Datum;
use exactop_model::{Counter, Frame, Row, RowKind, Value};

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
    /// The order.
    pub sort: SortBy,
    /// All must hold.
    pub filters: &'a [Filter],
    pub user: Option<&'a UserFilter>,
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
    pub(super) fn choose(&self, frame: &Frame) -> Chosen {
        let kind = self.kind();
        let wanted = |(i, row): (usize, &Row)| (row.kind == kind).then_some(At::Live(i));
        let passing = |(i, row): (usize, &Row)| self.keeps_exited(row).then_some(At::Exited(i));
        let live = frame.rows.iter().enumerate().filter_map(wanted);
        let mut order: Vec<At> =
            live.chain(frame.exited.iter().enumerate().filter_map(passing)).collect();
        order.sort_by_cached_key(|at| {
            let row = at.row(frame);
            let tie = (row.key.tgid, row.key.tid, row.ident.ppid, row.ident.comm);
            Ranked::new(self.sort_value(row), self.sort.descending, tie)
        });
        let kept = frame.rows.iter().map(|row| row.kind == kind && self.keeps_live(row));
        Chosen { order, kept: kept.collect() }
    }

    fn keeps_live(&self, row: &Row) -> bool {
        let user = self.user.is_none_or(|u| (row.ident.uid == u.uid) != u.negated);
        let idle = self.hide_idle && row.letter != 'R' && row.run_with_exited_ns() == Some(0);
        user && !idle && self.passes_filters(row)
    }

    fn keeps_exited(&self, row: &Row) -> bool {
        let idle = self.hide_idle && row.delta.get(Counter::RunNs) == Some(0);
        !idle && self.passes_filters(row)
    }

    fn passes_filters(&self, row: &Row) -> bool {
        self.filters.iter().all(|f| f.keeps(row, &self.context))
    }

    /// By CPU time a parent stands where its lines belong together: those of its exited
    /// children come directly below it.
    fn sort_value(&self, row: &Row) -> Value {
        match row.run_with_exited_ns().filter(|_| self.sort.column.of_branch) {
            Some(ns) => Value::Known(Datum::Ns(ns)),
            None => (self.sort.column.value)(row, &self.context),
        }
    }
}
