//! Membership of a row in a row of totals or in a control group.

use crate::feed::needs::Needs;
use crate::frame::row::{Row, RowKind};
use crate::frame::Frame;
use crate::ledger::named::UNKNOWN;
use crate::owner::workers::Workers;
use crate::owner::Grouping;
use crate::text::escape::{escape, escape_str};
use rustc_hash::FxHashMap;
use std::fmt;

/// The total or the group that rows belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Belonging {
    /// A row of totals ([`crate::frame::named_sums`]).
    Sum {
        /// The key of the totals.
        by: Grouping,
        /// Name of the total's row, escaped.
        name: String,
        /// True for the row of the rest.
        is_rest: bool,
    },
    /// A control group and all groups below it, by its path, escaped.
    Below(String),
}

impl fmt::Display for Belonging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Belonging::Sum { name, is_rest: true, .. } => f.write_str(name),
            Belonging::Sum { by, name, .. } => write!(f, "{by} {name}"),
            Belonging::Below(name) => write!(f, "group {name}"),
        }
    }
}

impl Belonging {
    /// What must be read of each row to decide its membership.
    pub fn needs(&self) -> Needs {
        match self {
            Belonging::Sum {
                by: Grouping::Command | Grouping::Process | Grouping::Host, ..
            } => Needs::NONE,
            Belonging::Sum { by: Grouping::User, .. } => Needs::USER,
            Belonging::Sum { .. } | Belonging::Below(_) => Needs::NAMES,
        }
    }

    /// The members among a frame's rows.
    pub fn among<'a>(&'a self, frame: &'a Frame) -> Members<'a> {
        let stands_for_all = |row: &&Row| row.kind == RowKind::Process || row.key.is_leader();
        let leaders = frame.rows.iter().filter(stands_for_all).map(|row| (row.key.tgid, row));
        Members { of: self, leaders: leaders.collect() }
    }
}

/// The members among a frame's rows; see [`Belonging::among`].
pub struct Members<'a> {
    of: &'a Belonging,
    leaders: FxHashMap<u32, &'a Row>,
}

impl Members<'_> {
    /// True if the row is a member.
    pub fn has(&self, row: &Row) -> bool {
        match self.of {
            Belonging::Below(group) => is_below(row, group),
            Belonging::Sum { by, name, is_rest } => {
                let (of, rest) = self.name(row, *by);
                (&of, rest) == (name, *is_rest)
            }
        }
    }

    /// The name of the row's total, and whether it is the rest; the same as in
    /// [`crate::frame::named_sums`].
    fn name(&self, row: &Row, by: Grouping) -> (String, bool) {
        let named = |name: Option<String>| match name {
            Some(name) => (name, false),
            None => (by.none().into(), true),
        };
        match by {
            Grouping::User => named(user(self.process(row).map_or(row, |process| process))),
            Grouping::Command => {
                let who = self.process(row).map_or(row, |process| process);
                let pool = Workers::of_comm(&who.ident.comm).filter(|_| self.is_kthread(who));
                named(Some(pool.map_or(who.ident.comm.to_string(), |pool| pool.name().into())))
            }
            Grouping::Process => named(Some(match self.process(row) {
                Some(process) => format!("{} ({})", process.ident.comm, process.key.tgid),
                None => format!("{} (exited)", row.ident.comm),
            })),
            Grouping::Host => named(None),
            Grouping::Cgroup => match &row.detail.cgroup {
                Ok(path) => named(Some(escape(path))),
                Err(_) => (UNKNOWN.into(), true),
            },
            _ => match &row.detail.named {
                Ok(name) => named(name.under(by).map(|name| escape_str(&name))),
                Err(_) => (UNKNOWN.into(), true),
            },
        }
    }

    /// The row of the row's process; `None` if the process has exited.
    fn process<'r>(&'r self, row: &'r Row) -> Option<&'r Row> {
        let leader = self.leaders.get(&row.key.tgid).copied();
        leader.or((row.kind != RowKind::Exited).then_some(row))
    }

    fn is_kthread(&self, row: &Row) -> bool {
        let parent = || self.leaders.get(&row.ident.ppid).is_some_and(|row| row.ident.kthread);
        row.ident.kthread || row.kind == RowKind::Exited && parent()
    }
}

/// Name of the row's user; `None`: unknown.
fn user(row: &Row) -> Option<String> {
    let name = |uid: u32| row.detail.user.as_ref().map_or(uid.to_string(), |user| escape_str(user));
    row.uid().map(name)
}

fn is_below(row: &Row, group: &str) -> bool {
    let rest = match &row.detail.cgroup {
        Ok(path) => escape(path).strip_prefix(group.trim_end_matches('/')).map(str::to_string),
        // Tasks in a removed group belong to the root.
        Err(_) => (group == "/").then(String::new),
    };
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
