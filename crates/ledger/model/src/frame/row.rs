//! A line of the table: who it stands for, what it did in the window, and what follows from that.

use crate::frame::value::Missing;
use crate::ledger::book::Book;
use crate::ledger::counters::{Counter, Counters};
use crate::ledger::key::{AccountId, Ident, TaskKey};
use crate::ledger::named::Named;
use crate::ledger::snapshot::MicroState;
use crate::ledger::system::DiskRate;
use crate::ledger::window::TaskDelta;
use std::sync::Arc;

/// What a row stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowKind {
    /// One thread.
    Task,
    /// A process: the sum of its threads, those that exited in the window included.
    Process,
    /// Tasks that exited in the window.
    Exited,
}

/// Things read for single rows, when a view looks at them. `Err` says why one is missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Detail {
    /// Virtual size, bytes.
    pub virt: Result<u64, Missing>,
    /// Resident set, bytes.
    pub res: Result<u64, Missing>,
    /// Shared resident, bytes.
    pub shr: Result<u64, Missing>,
    /// CPU time of the whole life (for a process with its exited threads), ns.
    pub time_ns: Result<u64, Missing>,
    /// Command line, arguments separated by blanks; raw bytes. Kernel threads have none.
    pub cmdline: Result<Vec<u8>, Missing>,
    /// User name; the number as text where there is no name.
    pub user: Result<String, Missing>,
    /// Path of the cgroup; raw bytes.
    pub cgroup: Result<Vec<u8>, Missing>,
    /// Whose the cgroup is.
    pub named: Result<Arc<Named>, Missing>,
    /// What it has read from and written to disks, between two looks about a window apart.
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

/// What a thread is doing at the window's end, and the CPU it is on or last was on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct Doing {
    /// Its state, where the source can tell.
    pub state: MicroState,
    pub cpu: Option<u32>,
}

impl Doing {
    pub(crate) fn of(task: &TaskDelta) -> Doing {
        Doing { state: task.sample.state, cpu: task.sample.last_cpu }
    }

    /// How near to a CPU: on it, waiting for it, not allowed to, none of these.
    pub(crate) fn nearness(self) -> u8 {
        match self.state {
            MicroState::Run => 3,
            MicroState::Lat | MicroState::LatPreempt => 2,
            MicroState::Throttle => 1,
            _ => 0,
        }
    }
}

/// A line of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it stands for.
    pub kind: RowKind,
    /// The account, for tasks and processes (the leader's).
    pub account: Option<AccountId>,
    /// Key; of the leader for a process. For exited groups tid is 0, and tgid too, unless they are
    /// threads of a process that lives.
    pub key: TaskKey,
    /// Identity; of the leader for a process. For exited groups `ppid` is the nearest living
    /// ancestor, 0 if none lives.
    pub ident: Ident,
    /// Of an exited group: whose it was, where that is known. See [`Row::uid`].
    pub exited_uid: Option<u32>,
    /// State letter as top's: R S D T t Z I; X for exited groups. A process has its leader's,
    /// or R where another thread runs.
    pub letter: char,
    /// What it is doing; a process what the thread of it does that got furthest to a CPU.
    pub doing: Doing,
    /// The CPU it last was on.
    pub last_cpu: Option<u32>,
    /// Threads alive at the window's end, where known; for exited groups 0.
    pub threads: Option<u32>,
    /// Exited in the window: processes (for exited groups).
    pub exited_processes: u64,
    /// Exited in the window: tasks (for exited groups and processes).
    pub exited_tasks: u64,
    /// How often something of it was set right after an event that was not shown; a task that exited
    /// counts once. `None` where no books are kept, and of who is seen for the first time.
    pub repairs: Option<u64>,
    /// The lives of its tasks inside the window, summed.
    pub life_ns: u64,
    /// What it did in the window.
    pub delta: Counters,
    /// Since the source began to watch (ledger) or since birth (procfs); for exited groups the
    /// same as `delta`.
    pub total: Counters,
    /// What descendants that exited in the window did, when this row is their nearest living
    /// ancestor. `None` where the source cannot see them.
    pub children: Option<Counters>,
    /// Things read for this row alone.
    pub detail: Detail,
}

impl Row {
    /// Names its control group as windows tell it, where the path was not read: exited tasks have no file to read.
    pub fn name_group(&mut self, book: &Book) {
        let group = self.ident.cgroup_id.and_then(|id| book.group(id));
        if let (Some(group), Err(_)) = (group, &self.detail.cgroup) {
            self.detail.cgroup = Ok(group.path.clone());
        }
    }

    /// The effective user; `None`: whose it was when it exited is not known.
    pub fn uid(&self) -> Option<u32> {
        match self.kind {
            RowKind::Exited => self.exited_uid,
            _ => Some(self.ident.uid),
        }
    }

    /// CPU time of the row itself and of those that exited below it, ns.
    pub fn run_with_exited_ns(&self) -> Option<u64> {
        let own = self.delta.get(Counter::RunNs)?;
        Some(self.children.and_then(|c| c.get(Counter::RunNs)).map_or(own, |exited| own + exited))
    }

    /// Of an exited group: its processes, or its threads where it has no whole process.
    pub fn exited_count(&self) -> u64 {
        if self.exited_processes > 0 {
            self.exited_processes
        } else {
            self.exited_tasks
        }
    }

    /// User and system time in the window, ns: measured at system call entry and exit where that
    /// covers all of it; else from the kernel's tick-sampled ratio, of this window or, if no tick
    /// hit in it, of the whole life.
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

    /// User and system time where both were measured for the whole window.
    pub fn exact_split_ns(&self) -> Option<(u64, u64)> {
        exact_split_ns(&self.delta)
    }

    /// All that it and its children took from the CPUs in the window: executed and stolen. Where
    /// there is no figure for children or steal, without it.
    pub fn taken_ns(&self) -> Option<u64> {
        let steal = |of: &Counters| of.get(Counter::StealNs).unwrap_or(0);
        let own = self.delta.get(Counter::RunNs)? + steal(&self.delta);
        let children = match &self.children {
            Some(children) => children.get(Counter::RunNs)? + steal(children),
            None => self.children_split_ns().map_or(0, |(user, system)| user + system),
        };
        Some(own + children)
    }

    /// User and system time of its children: of those that exited in the window, by when they did
    /// so, where the source sees that; else of those that it waited for in the window, whole lives.
    pub fn children_split_ns(&self) -> Result<(u64, u64), Missing> {
        let Some(children) = &self.children else {
            let waited = self.delta.get(Counter::CutimeNs).zip(self.delta.get(Counter::CstimeNs));
            return waited.ok_or(Missing::Source);
        };
        let run = children.get(Counter::RunNs).ok_or(Missing::Source)?;
        match exact_split_ns(children) {
            Some(exact) => Ok(exact),
            None if run == 0 => Ok((0, 0)),
            None => by_ticks(run, children).ok_or(Missing::NoTick),
        }
    }
}

fn exact_split_ns(counters: &Counters) -> Option<(u64, u64)> {
    let part = |c| counters.get(c);
    let (user, system) = part(Counter::UserNs).zip(part(Counter::SystemNs))?;
    (part(Counter::RunNs) == Some(user + system)).then_some((user, system))
}

/// CPU time split by the kernel's ticks, if any hit.
fn by_ticks(run: u64, counters: &Counters) -> Option<(u64, u64)> {
    let both = counters.get(Counter::UtimeNs).zip(counters.get(Counter::StimeNs));
    let (u, s) = both.filter(|(u, s)| u + s > 0)?;
    let user = (u128::from(run) * u128::from(u) / (u128::from(u) + u128::from(s))) as u64;
    Some((user, run - user))
}
