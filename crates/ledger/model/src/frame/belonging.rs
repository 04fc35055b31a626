//! Membership of a row in a row of totals or in a control group.

use crate::feed::needs::Needs;
use crate::frame::row::{Row, RowKind};
use crate::frame::Frame;
use crate::ledger::key::{Comm, Ident};
use crate::ledger::named::{GroupName, UNKNOWN};
use crate::ledger::snapshot::ProcessRef;
use crate::owner::{Grouping, Owner, OwnerNames};
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
    /// Key of the totals, for [`FrameOptions::by`].
    ///
    /// [`FrameOptions::by`]: crate::frame::FrameOptions::by
    pub fn by(&self) -> Option<Grouping> {
        match self {
            Belonging::Sum { by, .. } => Some(*by),
            Belonging::Below(_) => None,
        }
    }

    /// What must be read of each row to decide its membership.
    pub fn needs(&self) -> Needs {
        match self {
            Belonging::Sum { by: Grouping::User, .. } => Needs::USER,
            Belonging::Sum { by, .. } if !by.is_of_group() => Needs::NONE,
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
            Grouping::Cgroup => match &row.detail.cgroup {
                Ok(path) => named(Some(escape(path))),
                Err(_) => (UNKNOWN.into(), true),
            },
            by if by.is_of_group() => match &row.detail.named {
                Ok(name) => named(name.under(by).map(|name| escape_str(&name))),
                Err(_) => (UNKNOWN.into(), true),
            },
            by => self.owner(row, by).name(by, self),
        }
    }

    /// Owner of the row, for keys that need neither a control group nor a user's name.
    fn owner(&self, row: &Row, by: Grouping) -> Owner {
        let process = self.process(row);
        let leader = process.map_or(row, |process| process);
        let leader_ident = Ident { kthread: self.is_kthread(leader), ..leader.ident };
        let own = if row.kind == RowKind::Exited { &leader_ident } else { &row.ident };
        let key = process.map(|process| process.key);
        let key = key.map(|key| ProcessRef { tgid: key.tgid, start_ns: key.start_ns });
        Owner::from_ident(by, key, &leader_ident, own)
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

impl OwnerNames for Members<'_> {
    fn command(&self, tgid: u32) -> Option<Comm> {
        self.leaders.get(&tgid).map(|leader| leader.ident.comm)
    }

    fn group(&self, _: u64) -> Option<&GroupName> {
        None
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
