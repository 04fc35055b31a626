//! Decides the owner of CPU time, for every view, report, metric and table.
//!
//! [`charge`] hands out all time of a window, each part once: of a task, of an exited group, and of
//! a task before it changed its control group. The parts sum to the books' tasks and exited under
//! every key. A new [`Grouping`] needs its variant, its words in `by.rs`, and its arms in
//! [`Owner::of_task`] and [`Owner::of_exit`].

mod by;
mod charge;
mod groups;
mod labels;
mod moves;
pub mod workers;

pub use by::{Grouping, UnknownGrouping};
pub use charge::{charge, share, Bearer, Charge, Share};
pub use labels::{
    labelled, BookNames, CgroupNames, Labels, Names, NoNames, Usage, LABEL_LEFT, LABEL_OTHER,
    LABEL_UNKNOWN, LABEL_UNNAMED, WAITS,
};

use crate::ledger::book::Book;
use crate::ledger::key::Comm;
use crate::ledger::named::UNKNOWN;
use crate::ledger::snapshot::{ExitSample, ProcessRef, TaskSample};
use crate::owner::workers::Workers;

/// The owner of a part of a window's time. Its numbers are valid within one boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// Processes with this command name.
    Command(Comm),
    /// A pool of kernel workers.
    Workers(Workers),
    /// A living process.
    Process(ProcessRef),
    /// Exited processes with this command name.
    Exited(Comm),
    /// A control group by the kernel's id; `None`: unknown to the source.
    Group(Option<u64>),
    /// An effective user; `None`: unknown to the source.
    User(Option<u32>),
    /// The machine.
    Machine,
}

impl Owner {
    /// The owner of a living task's time, as of the window's end. A thread's process owns its time;
    /// control group and user are the task's own.
    pub fn of_task(by: Grouping, task: &TaskSample, book: &Book) -> Owner {
        match by {
            Grouping::Command => {
                let process = book.leader(task);
                let pool = Workers::of_task(process).map(Owner::Workers);
                pool.unwrap_or(Owner::Command(process.ident.comm))
            }
            Grouping::Process => {
                let key = book.leader(task).key;
                Owner::Process(ProcessRef { tgid: key.tgid, start_ns: key.start_ns })
            }
            Grouping::User => Owner::User(Some(task.ident.uid)),
            Grouping::Cgroup
            | Grouping::Unit
            | Grouping::Container
            | Grouping::Pod
            | Grouping::Namespace => Owner::Group(task.ident.cgroup_id),
            Grouping::Host => Owner::Machine,
        }
    }

    /// The owner of an exited group's time. Exited threads of a living process belong to that
    /// process.
    pub fn of_exit(by: Grouping, exit: &ExitSample, book: &Book) -> Owner {
        if by.is_of_group() {
            return Owner::Group(exit.cgroup_id);
        }
        match (by, book.living(exit.of)) {
            (Grouping::Host, _) => Owner::Machine,
            (_, Some(process)) => Owner::of_task(by, process, book),
            (Grouping::User, None) => Owner::User(exit.uid),
            (Grouping::Process, None) => Owner::Exited(exit.comm),
            (_, None) => {
                let pool = Workers::of_exited(exit, book).map(Owner::Workers);
                pool.unwrap_or(Owner::Command(exit.comm))
            }
        }
    }

    /// Name of its row, escaped, and true if the row is the rest. A user's name is its number.
    pub fn name(self, by: Grouping, book: &Book) -> (String, bool) {
        let named = |name: Option<String>| match name {
            Some(name) => (name, false),
            None => (by.none().into(), true),
        };
        match self {
            Owner::Command(comm) => named(Some(comm.to_string())),
            Owner::Workers(pool) => named(Some(pool.name().into())),
            Owner::Process(process) => {
                let head = book.process(process.tgid).and_then(|entry| book.task(entry.head()?));
                let comm = head.map_or("?".into(), |head| head.ident.comm.to_string());
                named(Some(format!("{comm} ({})", process.tgid)))
            }
            Owner::Exited(comm) => named(Some(format!("{comm} (exited)"))),
            Owner::Group(id) => match id.and_then(|id| book.group(id)) {
                Some(group) => named(group.under(by)),
                None => (UNKNOWN.into(), true),
            },
            Owner::User(uid) => named(uid.map(|uid| uid.to_string())),
            Owner::Machine => named(None),
        }
    }
}
