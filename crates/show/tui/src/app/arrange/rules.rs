//! Which rows are kept, and in which order. Pure.

use super::subject::Subject;
use exactop_model::columns::filter::Filter;
use exactop_model::columns::sort::SortBy;
use exactop_model::columns::Context;
use exactop_model::frame::belonging::{Belonging, Members};
use exactop_model::{Frame, Row, RowKind, TaskKey};
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

impl Rules<'_> {
    /// One row a thread, or one a process.
    pub(super) fn kind(&self) -> RowKind {
        if self.threads {
            RowKind::Task
        } else {
            RowKind::Process
        }
    }

    /// Chooses and orders. What is not kept goes, but for live rows: below them may stand what is.
    pub(super) fn choose(&self, frame: &Frame, subjects: &mut Vec<Subject>) {
        let known = Known {
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

    /// Not every source says whose the exited tasks of a group were: where it does not, they are shown.
    fn keeps(&self, known: &Known, subject: &Subject) -> bool {
        let row = subject.row;
        let user = self.user.zip(row.uid()).is_none_or(|(u, uid)| (uid == u.uid) != u.negated);
        let idle = self.hide_idle && subject.is_idle;
        let kernel = self.hide_kernel && is_of_kernel(known, row);
        let is_member = known.members.as_ref().is_none_or(|members| members.has(row));
        user && !idle && !kernel && subject.passes && is_member
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
