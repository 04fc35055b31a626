//! Raw cumulative counters at one instant: the output of a source and the content of a recording.

use crate::blame::Blame;
use crate::ledger::audit::{ExitAudit, TaskAudit};
use crate::ledger::counters::{Counter, Counters};
use crate::ledger::errors::ErrorCounts;
use crate::ledger::key::{AccountId, Comm, Ident, TaskKey};
use crate::ledger::named::GroupName;
use crate::ledger::provenance::{Provenance, Quality};
use crate::ledger::system::System;
use std::sync::Arc;

/// The state of a task at an instant; a task is in exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum MicroState {
    /// The source does not know it.
    #[default]
    Unknown,
    /// On a CPU.
    Run,
    /// Runnable after a wake-up, waiting for a CPU.
    Lat,
    /// Runnable after losing its CPU, waiting for one.
    LatPreempt,
    /// Runnable, but the quota of its cgroup is used up.
    Throttle,
    /// Asleep, interruptible.
    Sleep,
    /// Asleep on a user-level lock.
    Lock,
    /// Asleep in a page fault on an instruction.
    TextFault,
    /// Asleep in any other page fault.
    DataFault,
    /// Asleep, uninterruptible.
    Block,
    /// Stopped or traced.
    Stop,
    /// Dead and not yet reaped; its time no longer grows.
    Zombie,
}

impl MicroState {
    /// The counters that grow while a task is in this state.
    pub const fn counters(self) -> &'static [Counter] {
        match self {
            MicroState::Run => &[Counter::RunNs],
            MicroState::Lat => &[Counter::LatNs],
            MicroState::LatPreempt => &[Counter::LatNs, Counter::LatPreemptNs],
            MicroState::Throttle => &[Counter::ThrottleNs],
            MicroState::Sleep => &[Counter::SleepNs],
            MicroState::Lock => &[Counter::LockNs],
            MicroState::TextFault => &[Counter::TextFaultNs],
            MicroState::DataFault => &[Counter::DataFaultNs],
            MicroState::Block => &[Counter::BlockNs],
            MicroState::Stop => &[Counter::StopNs],
            MicroState::Unknown | MicroState::Zombie => &[],
        }
    }
}

/// One task at the snapshot's instant.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub struct TaskSample {
    /// The account; it stays the same over exec.
    pub account: AccountId,
    /// PID, thread id and start time.
    pub key: TaskKey,
    pub ident: Ident,
    pub state: MicroState,
    /// The state letter as top shows it: R S D T t Z I.
    pub letter: char,
    /// Start of this account's time, CLOCK_MONOTONIC ns: the task's birth, or the instant at which
    /// the source began to watch.
    pub since_ns: u64,
    /// The CPU that the task is on or was on last.
    pub last_cpu: Option<u32>,
    /// Number of threads in the process, if the source reads processes only.
    pub threads: Option<u32>,
    /// Number of the followed tree that the task belongs to; 0: none.
    pub tree: u32,
    /// Cumulative counters.
    pub counters: Counters,
    /// Cumulative differences from the kernel's own counts.
    pub audit: TaskAudit,
}

impl TaskSample {
    /// The counters `later_ns` later, if the task has no event until then.
    pub(crate) fn counters_after(&self, later_ns: u64) -> Counters {
        let mut counters = self.counters;
        for &counter in self.state.counters() {
            counters.bump(counter, later_ns);
        }
        counters
    }
}

/// A process by its number and start time, so that a reused PID is a different process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ProcessRef {
    /// Thread group id; 0: none.
    pub tgid: u32,
    /// Start time of the leader since boot, ns.
    pub start_ns: u64,
}

/// Exited tasks, summed by parent, comm, cgroup, user and session. Each task adds only its time in
/// the window it exited in. Cumulative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExitSample {
    /// The account of this group.
    pub account: AccountId,
    /// The process, if the group holds exited threads of a living process; tgid 0: the group holds
    /// whole processes.
    pub of: ProcessRef,
    /// Parent process and its ancestors, nearest first, at the group's first exit. tgid 0: no such
    /// ancestor, or the source does not know it.
    pub ancestors: [ProcessRef; 8],
    /// Command name.
    pub comm: Comm,
    /// Cgroup id, if known.
    pub cgroup_id: Option<u64>,
    /// Effective user at the exit, if known.
    pub uid: Option<u32>,
    /// Session id at the exit, as in [`Ident::session`].
    pub session: Option<u32>,
    /// Number of the followed tree that the tasks belonged to; 0: none.
    pub tree: u32,
    /// Number of exited processes.
    pub processes: u64,
    /// Number of exited tasks (threads), leaders included.
    pub tasks: u64,
    /// Time that the tasks lived inside the windows they exited in, summed, ns.
    pub life_ns: u64,
    /// Summed counters.
    pub counters: Counters,
    /// Summed differences from the kernel's own counts.
    pub audit: ExitAudit,
}

/// Figures of tasks in a window before they moved from one control group to another. A window holds
/// a task's figures under the group at the window's end or at the task's exit; this part belongs to
/// the other group. Cumulative since the pair's first move, or since its last after a window
/// without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct GroupMove {
    /// The group that tasks left, by the kernel's id.
    pub from: u64,
    /// The group that they entered.
    pub to: u64,
    /// Their known figures; others stay with the group entered.
    pub used: Counters,
}

impl GroupMove {
    /// The increase since `earlier`.
    pub fn since(&self, earlier: &GroupMove) -> GroupMove {
        let mut used = self.used;
        for (counter, then) in earlier.used.known() {
            used.set(counter, self.used.get(counter).unwrap_or(then).saturating_sub(then));
        }
        GroupMove { used, ..*self }
    }

    /// Adds figures of another move between the same groups.
    pub fn add(&mut self, used: &Counters) {
        for (counter, more) in used.known() {
            self.used.set(counter, self.used.get(counter).unwrap_or(0).wrapping_add(more));
        }
    }
}

/// Where the time of one CPU went, cumulative ns since the source began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct CpuSample {
    /// CPU number.
    pub cpu: u32,
    /// True if the CPU is online at the snapshot's instant.
    pub online: bool,
    /// Executing tasks that have an account.
    pub task_ns: u64,
    /// Executing tasks without an account.
    pub unnamed_ns: u64,
    pub idle_ns: u64,
    /// Interrupts that hit tasks and idle time, if measured.
    pub irq_ns: Option<u64>,
    /// The part of `irq_ns` outside of any task's account: idle or unnamed.
    pub irq_idle_ns: Option<u64>,
    /// Time stolen from tasks and from idle, if measured.
    pub steal_ns: Option<u64>,
    /// The part of `steal_ns` outside of any task's account: idle or unnamed.
    pub steal_idle_ns: Option<u64>,
    /// Executed by tasks that exited when the table of exited groups was full. It is a part of
    /// `task_ns` of a CPU, which may be another one.
    pub no_name_ns: u64,
    /// Number of whole processes that exited in this way.
    pub no_name_processes: u64,
    pub offline_ns: u64,
    /// Context switches.
    pub switches: Option<u64>,
    /// Switches that the kernel counted (`rq.nr_switches`, kernel/sched/core.c) and did not show.
    /// `None` if the source has no such count.
    pub missed_switches: Option<u64>,
    /// Time of the watched process on this CPU, if one is watched.
    pub watched_ns: Option<u64>,
    /// Dispatches of the watched process on this CPU, if one is watched.
    pub watched_dispatches: Option<u64>,
}

/// Tasks outside of a PID namespace, as one sum. A daemon inside a PID namespace has rows only for
/// tasks in it. Cumulative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct Outside {
    /// Time executing, ns.
    pub run_ns: u64,
    /// Interrupts that hit these tasks, ns, if measured.
    pub irq_ns: u64,
    /// Time stolen from these tasks, ns, if measured.
    pub steal_ns: u64,
}

impl Outside {
    /// The increase since `earlier`.
    pub fn since(&self, earlier: &Outside) -> Outside {
        Outside {
            // Wrapping: a counter that ran backwards shows as an absurd residual.
            run_ns: self.run_ns.wrapping_sub(earlier.run_ns),
            irq_ns: self.irq_ns.wrapping_sub(earlier.irq_ns),
            steal_ns: self.steal_ns.wrapping_sub(earlier.steal_ns),
        }
    }

    /// The sum of both.
    pub fn and(&self, other: &Outside) -> Outside {
        Outside {
            run_ns: self.run_ns.wrapping_add(other.run_ns),
            irq_ns: self.irq_ns.wrapping_add(other.irq_ns),
            steal_ns: self.steal_ns.wrapping_add(other.steal_ns),
        }
    }

    /// Adds interrupt time back to the time of the tasks that it interrupted.
    pub(crate) fn fold_interrupts(&mut self) {
        self.run_ns = self.run_ns.wrapping_add(std::mem::take(&mut self.irq_ns));
    }
}

/// Cost of measuring, cumulative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct CostSample {
    /// User time of this process, from its own CPU clock, ns.
    pub user_ns: u64,
    /// Number of BPF events times their calibrated cost, ns; `None` without BPF or before the
    /// calibration.
    pub bpf_ns: Option<u64>,
    pub bpf_events: Option<u64>,
}

impl ExitSample {
    /// A group without tasks.
    pub fn empty(account: AccountId, ancestors: [ProcessRef; 8], comm: Comm) -> ExitSample {
        ExitSample {
            account,
            of: ProcessRef::default(),
            ancestors,
            comm,
            cgroup_id: None,
            uid: None,
            session: None,
            tree: 0,
            processes: 0,
            tasks: 0,
            life_ns: 0,
            counters: Counters::zero(),
            audit: ExitAudit::default(),
        }
    }
}

/// All cumulative figures at one instant.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub struct Snapshot {
    /// The instant, CLOCK_MONOTONIC ns; the same for every CPU and task.
    pub at_ns: u64,
    /// The source and the quality of its figures.
    pub provenance: Provenance,
    /// True if interrupts are measured at this instant, although `provenance` says that they were
    /// not all the time since the snapshot before.
    pub irq_again: bool,
    /// True if `tasks` holds all tasks. False if it holds only those with an event since the
    /// snapshot before; the others are still in their last state.
    pub complete: bool,
    pub tasks: Vec<TaskSample>,
    /// Accounts that ended since the snapshot before, if not `complete`.
    pub gone: Vec<AccountId>,
    /// Exited groups.
    pub exited: Vec<ExitSample>,
    /// Use of tasks before they changed their control group.
    pub moves: Vec<GroupMove>,
    /// Names of control groups that are new since the snapshot before; the first snapshot with
    /// names has all known ones. Empty if no reader needs names.
    pub groups: Vec<Arc<GroupName>>,
    /// Names of processes, by tgid, whose leader the source does not see: those that are new or
    /// another since the snapshot before.
    pub leader_names: Vec<(u32, Comm)>,
    pub cpus: Vec<CpuSample>,
    /// The process whose time on each CPU the source counts from this instant on.
    pub watch: Option<u32>,
    /// Tasks born since the source began, processes and threads, if known.
    pub born: Option<u64>,
    /// Missed and impossible events since the source began.
    pub errors: ErrorCounts,
    /// CPU time that was repaired after unseen events, ns: the time from the last seen event before
    /// one to the next seen event. `None` from a source that sees no events.
    pub repaired_ns: Option<u64>,
    /// Waits for a CPU that came from the kernel's own counts because the wake-up was not seen, ns.
    pub repaired_wait_ns: Option<u64>,
    /// Values of the machine.
    pub system: System,
    /// Cost of measuring so far.
    pub cost: CostSample,
    /// Tasks outside of the PID namespace, as one sum; `None`: every task has its own account.
    pub outside: Option<Outside>,
    /// What was booked in the blame book since the snapshot before; `None`: the source keeps none.
    pub blame: Option<Blame>,
}

impl Snapshot {
    /// True if interrupts are measured at this instant.
    pub(crate) fn measures_interrupts(&self) -> bool {
        self.irq_again || self.provenance.irq != Quality::Missing
    }

    /// A snapshot without tasks, CPUs and errors.
    pub fn empty(provenance: Provenance, at_ns: u64) -> Snapshot {
        Snapshot {
            at_ns,
            provenance,
            irq_again: false,
            complete: true,
            tasks: Vec::new(),
            gone: Vec::new(),
            exited: Vec::new(),
            moves: Vec::new(),
            groups: Vec::new(),
            leader_names: Vec::new(),
            cpus: Vec::new(),
            watch: None,
            born: None,
            errors: ErrorCounts::default(),
            repaired_ns: None,
            repaired_wait_ns: None,
            system: System::default(),
            cost: CostSample::default(),
            outside: None,
            blame: None,
        }
    }
}
