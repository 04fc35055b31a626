//! Decides the owner of CPU time, for every view, report, metric and table.
//!
//! [`charge`] gives each part of a window's time to one owner: the time of a task, of an exited
//! group, and of a task before it changed its control group. The parts sum to the books' tasks and
//! exited under every key. A new [`Grouping`] is an edit in this folder: its variant, lists and
//! words in `grouping.rs`, and its arms in [`Owner::of_exit`], `Owner::from_ident` and
//! [`Owner::name`].

mod charge;
mod grouping;
mod groups;
mod labels;
mod moves;
mod session;
pub mod workers;

pub use charge::{charge, share, Bearer, Charge, Share};
pub use grouping::{Grouping, UnknownGrouping};
pub(crate) use labels::Naming;
pub use labels::{
    labelled, BookNames, CgroupNames, Labels, Names, NoNames, Usage, LABEL_LEFT, LABEL_OTHER,
    LABEL_UNKNOWN, LABEL_UNNAMED, WAITS,
};
pub use session::Session;

use crate::ledger::book::Book;
use crate::ledger::key::{Comm, Ident};
use crate::ledger::named::{GroupName, UNKNOWN};
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
    /// A session; `None`: unknown to the source.
    Session(Option<Session>),
    /// The machine.
    Machine,
}

/// A source of names of owners, as known at one time.
pub trait OwnerNames {
    /// Command name of a living, visible process; `None`: there is no such process.
    fn command(&self, tgid: u32) -> Option<Comm>;

    /// A control group with its names; `None`: unknown.
    fn group(&self, id: u64) -> Option<&GroupName>;
}

impl OwnerNames for Book {
    fn command(&self, tgid: u32) -> Option<Comm> {
        self.leader_of(tgid).map(|leader| leader.ident.comm)
    }

    fn group(&self, id: u64) -> Option<&GroupName> {
        Book::group(self, id).map(|group| &**group)
    }
}

/// No names except those that an owner itself contains.
impl OwnerNames for () {
    fn command(&self, _: u32) -> Option<Comm> {
        None
    }

    fn group(&self, _: u64) -> Option<&GroupName> {
        None
    }
}

impl Owner {
    /// The owner of a living task's time, as of the window's end. A thread's process owns its time;
    /// control group, user and session are the task's own.
    pub fn of_task(by: Grouping, task: &TaskSample, book: &Book) -> Owner {
        let leader = book.leader(task);
        let process = ProcessRef { tgid: leader.key.tgid, start_ns: leader.key.start_ns };
        Owner::from_ident(by, Some(process), &leader.ident, &task.ident)
    }

    /// The owner of an exited group's time. Exited threads of a living process belong to that
    /// process.
    pub fn of_exit(by: Grouping, exit: &ExitSample, book: &Book) -> Owner {
        if by.is_of_group() {
            return Owner::Group(exit.cgroup_id);
        }
        match (by, book.living(exit.of)) {
            (_, Some(process)) => Owner::of_task(by, process, book),
            (Grouping::User, None) => Owner::User(exit.uid),
            (_, None) => {
                let (comm, session) = (exit.comm, exit.session);
                let kthread = workers::is_kthread(exit, book);
                let ident = Ident { comm, session, kthread, ..Ident::default() };
                Owner::from_ident(by, None, &ident, &ident)
            }
        }
    }

    /// The owner of a task's time, by the identities of its process's leader and of the task.
    /// `process`: `None` if the process has exited.
    pub(crate) fn from_ident(
        by: Grouping,
        process: Option<ProcessRef>,
        leader: &Ident,
        own: &Ident,
    ) -> Owner {
        match by {
            Grouping::Command => {
                Workers::from_ident(leader).map_or(Owner::Command(leader.comm), Owner::Workers)
            }
            Grouping::Process => process.map_or(Owner::Exited(leader.comm), Owner::Process),
            Grouping::User => Owner::User(Some(own.uid)),
            Grouping::Cgroup
            | Grouping::Unit
            | Grouping::Container
            | Grouping::Pod
            | Grouping::Namespace => Owner::Group(own.cgroup_id),
            Grouping::Session => Owner::Session(Session::from_ident(own)),
            Grouping::Host => Owner::Machine,
        }
    }

    /// True if a number identifies the owner; the number is valid within one boot.
    pub const fn has_number(self) -> bool {
        match self {
            Owner::Command(_) | Owner::Workers(_) | Owner::Exited(_) | Owner::Machine => false,
            Owner::Group(id) => id.is_some(),
            Owner::User(uid) => uid.is_some(),
            Owner::Session(session) => matches!(session, Some(Session::Id(_))),
            Owner::Process(_) => true,
        }
    }

    /// Name of its row, escaped, and true if the row is the rest. A user's name is its number.
    pub fn name(self, by: Grouping, names: &dyn OwnerNames) -> (String, bool) {
        let named = |name: Option<String>| match name {
            Some(name) => (name, false),
            None => (by.none().into(), true),
        };
        match self {
            Owner::Command(comm) => named(Some(comm.to_string())),
            Owner::Workers(pool) => named(Some(pool.name().into())),
            Owner::Process(process) => {
                let comm = names.command(process.tgid).map_or("?".into(), |comm| comm.to_string());
                named(Some(format!("{comm} ({})", process.tgid)))
            }
            Owner::Exited(comm) => named(Some(format!("{comm} (exited)"))),
            Owner::Group(id) => match id.and_then(|id| names.group(id)) {
                Some(group) => named(group.under(by)),
                None => (UNKNOWN.into(), true),
            },
            Owner::User(uid) => named(uid.map(|uid| uid.to_string())),
            Owner::Session(session) => {
                named(session.map(|session| session.name(|leader| names.command(leader))))
            }
            Owner::Machine => named(None),
        }
    }
}
