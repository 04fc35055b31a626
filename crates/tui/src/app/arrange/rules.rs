//! Which rows are kept, and in which order. Pure.

use super::{cpu_with_exited, At};
use exactop_model::columns::Context;
use exactop_model::filter::Filter;
use exactop_model::sort::{compare, SortBy};
use exactop_model::value::Datum;
use exactop_model::{Comm, Counter, Frame, Row, RowKind, Value};
use std::cmp::Ordering;

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
        match cpu_with_exited(row).filter(|_| self.sort.column.of_branch) {
            Some(ns) => Value::Known(Datum::Ns(ns)),
            None => (self.sort.column.value)(row, &self.context),
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
