//! Which rows are kept, and in which order. No I/O.

use super::subject::Subject;
use exactop_model::columns::filter::Filter;
use exactop_model::columns::sort::SortBy;
use exactop_model::columns::Context;
use exactop_model::frame::belonging::{Belonging, Members};
use exactop_model::{Frame, Row, RowKind, TaskKey};
use std::collections::HashSet;

/// A filter on the effective user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserFilter {
    /// The filter as typed, with `!` for all others.
    pub text: String,
    /// The user.
    pub uid: u32,
    /// True: all other users instead.
    pub negated: bool,
}

/// Selection and order of rows.
#[allow(missing_docs)] // Their names say it.
pub struct Rules<'a> {
    /// Threads instead of processes.
    pub threads: bool,
    /// Children below their parents.
    pub tree: bool,
    /// Hide rows that used no CPU.
    pub hide_idle: bool,
    /// Hide kernel threads, and exited tasks below them.
    pub hide_kernel: bool,
    /// If a window is marked: only tasks that it lacks, and processes that had fewer threads.
    pub only_new: bool,
    /// Sort order.
    pub sort: SortBy,
    /// Filters that must all hold.
    pub filters: &'a [Filter],
    pub user: Option<&'a UserFilter>,
    /// Only the members of this group or total.
    pub members_of: Option<&'a Belonging>,
    /// In the tree: rows whose branches are folded.
    pub folded: Option<&'a HashSet<TaskKey>>,
    /// Inputs of the values.
    pub context: Context,
}

impl Rules<'_> {
    /// The kind of rows: threads or processes.
    pub(super) fn kind(&self) -> RowKind {
        if self.threads {
            RowKind::Task
        } else {
            RowKind::Process
        }
    }

    /// Selects and orders. Rows that do not pass are dropped, except live rows: rows below them may
    /// pass.
    pub(super) fn choose(&self, frame: &Frame, subjects: &mut Vec<Subject>) {
        let known = RowFacts {
            members: self.members_of.map(|whose| whose.among(frame)),
            kernel: match self.hide_kernel {
                true => of_kernel(&frame.rows),
                false => HashSet::new(),
            },
        };
        for subject in &mut *subjects {
            subject.kept = self.keeps(&known, subject);
        }
        subjects.retain(|subject| subject.kept || subject.is_live());
        subjects.sort_by(|a, b| a.rank.cmp(&b.rank));
    }

    /// True if a row passes. Some sources do not report the user of an exited group; such a group
    /// passes.
    fn keeps(&self, known: &RowFacts, subject: &Subject) -> bool {
        let row = subject.row;
        let user = self.user.zip(row.uid()).is_none_or(|(u, uid)| (uid == u.uid) != u.negated);
        let idle = self.hide_idle && subject.is_idle;
        let kernel = self.hide_kernel && is_of_kernel(known, row);
        let is_member = known.members.as_ref().is_none_or(|members| members.has(row));
        user && !idle && !kernel && subject.passes && is_member
    }
}

/// Facts that are looked up once for all rows.
struct RowFacts<'a> {
    members: Option<Members<'a>>,
    /// PIDs of kernel threads.
    kernel: HashSet<u32>,
}

fn of_kernel(rows: &[Row]) -> HashSet<u32> {
    rows.iter().filter(|row| row.ident.kthread).map(|row| row.key.tgid).collect()
}

/// True if a row is of a kernel thread. An exited group is if its living ancestor is, because
/// kernel threads are children of kernel threads.
fn is_of_kernel(known: &RowFacts, row: &Row) -> bool {
    match row.kind {
        RowKind::Exited => known.kernel.contains(&row.ident.ppid),
        _ => row.ident.kthread,
    }
}
