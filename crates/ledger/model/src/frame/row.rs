//! A row of the table: the task, process or exited group, its figures in the window, and values
//! derived from them.

use crate::frame::value::Missing;
use crate::ledger::book::Book;
use crate::ledger::counters::{Counter, Counters};
use crate::ledger::key::{AccountId, Ident, TaskKey};
use crate::ledger::named::Named;
use crate::ledger::snapshot::MicroState;
use crate::ledger::system::DiskRate;
use crate::ledger::window::TaskDelta;
use std::sync::Arc;

/// Kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowKind {
    /// One thread.
    Task,
    /// One process: the sum of its threads, with those that exited in the window.
    Process,
    /// Tasks that exited in the window.
    Exited,
}

/// Details that a source reads for single rows on request. `Err` says why one is missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Detail {
    /// Virtual size, bytes.
    pub virt: Result<u64, Missing>,
    /// Resident set, bytes.
    pub res: Result<u64, Missing>,
    /// Shared resident, bytes.
    pub shr: Result<u64, Missing>,
    /// CPU time since birth, ns; of a process with its exited threads.
    pub time_ns: Result<u64, Missing>,
    /// Command line, arguments separated by blanks; raw bytes. Kernel threads have none.
    pub cmdline: Result<Vec<u8>, Missing>,
    /// User name; the number as text if the user has no name.
    pub user: Result<String, Missing>,
    /// Path of the cgroup, raw bytes.
    pub cgroup: Result<Vec<u8>, Missing>,
    /// The container, pod or unit that the cgroup belongs to.
    pub named: Result<Arc<Named>, Missing>,
    /// Disk reads and writes between two reads about a window apart.
    pub disk: Result<DiskRate, Missing>,
}

impl Default for Detail {
    fn default() -> Detail {
        const NOT: Missing = Missing::NotRead;
        Detail {
            virt: Err(NOT),
            res: Err(NOT),
            shr: Err(NOT),
            time_ns: Err(NOT),
            cmdline: Err(NOT),
            user: Err(NOT),
            cgroup: Err(NOT),
            named: Err(NOT),
            disk: Err(NOT),
        }
    }
}

/// State of a thread at the window's end, and the CPU that it is on or was on last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct Activity {
    /// State, if the source knows it.
    pub state: MicroState,
    pub cpu: Option<u32>,
}

impl Activity {
    pub(crate) fn from_task(task: &TaskDelta) -> Activity {
        Activity { state: task.sample.state, cpu: task.sample.last_cpu }
    }

    /// Distance from a CPU: 3 on it, then waiting for it, then throttled, then none of these.
    pub(crate) fn nearness(self) -> u8 {
        match self.state {
            MicroState::Run => 3,
            MicroState::Lat | MicroState::LatPreempt => 2,
            MicroState::Throttle => 1,
            _ => 0,
        }
    }
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Kind of the row.
    pub kind: RowKind,
    /// The account of a task, or of a process's leader; `None` for exited groups.
    pub account: Option<AccountId>,
    /// Key of the task, or of the process's leader. Exited groups have tid 0. Their tgid is 0 too,
    /// unless they are threads of a living process.
    pub key: TaskKey,
    /// Identity of the task, or of the process's leader. For exited groups `ppid` is the nearest
    /// living ancestor; 0 if none lives.
    pub ident: Ident,
    /// User of an exited group, if known. See [`Row::uid`].
    pub exited_uid: Option<u32>,
    /// State letter as top shows it: R S D T t Z I; X for exited groups. A process has its leader's
    /// letter, or R if another thread runs.
    pub letter: char,
    /// State at the window's end. For a process, the state of its thread that is nearest to a CPU.
    pub doing: Activity,
    /// The CPU that the task was on last.
    pub last_cpu: Option<u32>,
    /// Threads alive at the window's end, if known; 0 for exited groups.
    pub threads: Option<u32>,
    /// Processes that exited in the window, for exited groups.
    pub exited_processes: u64,
    /// Tasks that exited in the window, for exited groups and processes.
    pub exited_tasks: u64,
    /// Number of repairs after events that the kernel did not show; a task that exited counts once.
    /// `None` if the source keeps no books, and for a task in its first window.
    pub repairs: Option<u64>,
    /// Time that its tasks lived inside the window, summed, ns.
    pub life_ns: u64,
    /// Counters of the window.
    pub delta: Counters,
    /// Counters since the source began to watch (ledger) or since birth (procfs); for exited groups
    /// the same as `delta`.
    pub total: Counters,
    /// Counters of descendants that exited in the window and have this row as nearest living
    /// ancestor. `None` if the source does not see exits.
    pub children: Option<Counters>,
    /// Details read for this row.
    pub detail: Detail,
}

impl Row {
    /// Takes the path of the row's control group from the book, if it was not read from /proc. An
    /// exited task has no file to read.
    pub fn name_group(&mut self, book: &Book) {
        let group = self.ident.cgroup_id.and_then(|id| book.group(id));
        if let (Some(group), Err(_)) = (group, &self.detail.cgroup) {
            self.detail.cgroup = Ok(group.path.clone());
        }
    }

    /// Effective user; `None`: an exited group whose user is unknown.
    pub fn uid(&self) -> Option<u32> {
        match self.kind {
            RowKind::Exited => self.exited_uid,
            _ => Some(self.ident.uid),
        }
    }

    /// CPU time of the row and of its exited descendants, ns.
    pub fn run_with_exited_ns(&self) -> Option<u64> {
        let own = self.delta.get(Counter::RunNs)?;
        Some(self.children.and_then(|c| c.get(Counter::RunNs)).map_or(own, |exited| own + exited))
    }

    /// Number of exited processes of an exited group, or of exited threads if it has no whole
    /// process.
    pub fn exited_count(&self) -> u64 {
        if self.exited_processes > 0 {
            self.exited_processes
        } else {
            self.exited_tasks
        }
    }

    /// User and system time in the window, ns. The source measured them at the system calls, if
    /// that covers all of the run time. Else they come from the kernel's tick-sampled ratio in this
    /// window or, if no tick hit, since birth.
    pub fn split_ns(&self) -> Result<(u64, u64), Missing> {
        let run = self.delta.get(Counter::RunNs).ok_or(Missing::Source)?;
        if self.ident.kthread {
            return Ok((0, run));
        }
        if let Some(exact) = self.exact_split_ns() {
            return Ok(exact);
        }
        if run == 0 {
            return Ok((0, 0));
        }
        let known = self.delta.get(Counter::UtimeNs).is_some();
        let missing = if known { Missing::NoTick } else { Missing::Source };
        by_ticks(run, &self.delta).or_else(|| by_ticks(run, &self.total)).ok_or(missing)
    }

    /// User and system time, ns, if both were measured for the whole window.
    pub fn exact_split_ns(&self) -> Option<(u64, u64)> {
        self.delta.exact_split_ns()
    }

    /// CPU time of the row and its children in the window, executed and stolen, ns.
    pub fn taken_ns(&self) -> Option<u64> {
        Some(self.own_taken_ns()? + self.children_taken_ns()?)
    }

    /// CPU time of the row without its children, ns. Steal that is not measured is part of it.
    pub fn own_taken_ns(&self) -> Option<u64> {
        taken_ns(&self.delta)
    }

    /// CPU time of its children, ns; 0 if it has none, or if the source gives none.
    pub fn children_taken_ns(&self) -> Option<u64> {
        match &self.children {
            Some(children) => taken_ns(children),
            None => Some(self.children_split_ns().map_or(0, |(user, system)| user + system)),
        }
    }

    /// User and system time of the children, ns. If the source sees exits: of the descendants that
    /// exited in the window. Else: of the children that the process waited for in the window, over
    /// their whole lives.
    pub fn children_split_ns(&self) -> Result<(u64, u64), Missing> {
        let Some(children) = &self.children else {
            let waited = self.delta.get(Counter::CutimeNs).zip(self.delta.get(Counter::CstimeNs));
            return waited.ok_or(Missing::Source);
        };
        let run = children.get(Counter::RunNs).ok_or(Missing::Source)?;
        match children.exact_split_ns() {
            Some(exact) => Ok(exact),
            None if run == 0 => Ok((0, 0)),
            None => by_ticks(run, children).ok_or(Missing::NoTick),
        }
    }
}

fn taken_ns(of: &Counters) -> Option<u64> {
    Some(of.get(Counter::RunNs)? + of.get(Counter::StealNs).unwrap_or(0))
}

/// Splits CPU time by the kernel's tick counts; `None` if no tick hit.
fn by_ticks(run: u64, counters: &Counters) -> Option<(u64, u64)> {
    let both = counters.get(Counter::UtimeNs).zip(counters.get(Counter::StimeNs));
    let (u, s) = both.filter(|(u, s)| u + s > 0)?;
    let user = (u128::from(run) * u128::from(u) / (u128::from(u) + u128::from(s))) as u64;
    Some((user, run - user))
}
