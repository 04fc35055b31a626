//! Raw cumulative counters at one instant: all that a source produces and a recording stores.

use crate::ledger::audit::{ExitAudit, TaskAudit};
use crate::ledger::counters::{Counter, Counters};
use crate::ledger::errors::ErrorCounts;
use crate::ledger::key::{AccountId, Comm, Ident, TaskKey};
use crate::ledger::named::GroupName;
use crate::ledger::provenance::Provenance;
use crate::ledger::system::System;
use std::sync::Arc;

/// The one state a task is in at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum MicroState {
    /// The source cannot tell.
    #[default]
    Unknown,
    /// On a CPU.
    Run,
    /// Runnable after a wake-up, waiting for a CPU.
    Lat,
    /// Runnable after losing its CPU, waiting for one.
    LatPreempt,
    /// Runnable, but its cgroup's quota is used up.
    Throttle,
    /// Asleep, interruptibly.
    Sleep,
    /// Asleep on a user-level lock.
    Lock,
    /// Asleep in a page fault on an instruction.
    TextFault,
    /// Asleep in any other page fault.
    DataFault,
    /// Asleep, uninterruptibly.
    Block,
    /// Stopped or traced.
    Stop,
    /// Dead, not yet reaped. Zombies take no time.
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

/// One task as it was at the snapshot's instant.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub struct TaskSample {
    /// The account; stays the same over exec.
    pub account: AccountId,
    /// How a person names it.
    pub key: TaskKey,
    pub ident: Ident,
    /// The state it is in.
    pub state: MicroState,
    /// The state letter as top shows it: R S D T t Z I.
    pub letter: char,
    /// When this account's time begins: birth, or when the source began to watch.
    pub since_ns: u64,
    /// The CPU it is on or last was on.
    pub last_cpu: Option<u32>,
    /// Threads in the process, where the source reads processes only.
    pub threads: Option<u32>,
    /// Which tree of descendants it belongs to, of those that the source was told to follow; 0: none.
    pub tree: u32,
    /// Cumulative counters.
    pub counters: Counters,
    /// Cumulative differences to the kernel's own counts.
    pub audit: TaskAudit,
}

impl TaskSample {
    /// The counters so many ns later, if nothing happens to the task until then.
    pub(crate) fn counters_after(&self, later_ns: u64) -> Counters {
        let mut counters = self.counters;
        for &counter in self.state.counters() {
            counters.bump(counter, later_ns);
        }
        counters
    }
}

/// An ancestor: a process, told from its pid's next owner by its start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ProcessRef {
    /// Thread group id; 0 is none.
    pub tgid: u32,
    /// Start time since boot of the leader in ns.
    pub start_ns: u64,
}

/// Tasks that exited, summed by (parent, comm, cgroup, user); each added only the part of its time
/// that lay in the window it died in. Cumulative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExitSample {
    /// The account of this group.
    pub account: AccountId,
    /// The process whose threads these were, where only threads of a living process exited;
    /// tgid 0: whole processes.
    pub of: ProcessRef,
    /// The parent process and its ancestors, nearest first, as of the group's first exit; tgid 0: there is
    /// none, or nobody is told who it is.
    pub ancestors: [ProcessRef; 8],
    /// Command name.
    pub comm: Comm,
    /// Cgroup id, where known.
    pub cgroup_id: Option<u64>,
    /// Effective user at the end, where known.
    pub uid: Option<u32>,
    /// Which tree that is followed these belonged to; 0: none.
    pub tree: u32,
    /// Exited processes.
    pub processes: u64,
    /// Exited tasks (threads), leaders included.
    pub tasks: u64,
    /// Sum of lifetimes inside the windows they died in.
    pub life_ns: u64,
    /// Summed counters.
    pub counters: Counters,
    /// Summed differences to the kernel's own counts.
    pub audit: ExitAudit,
}

/// What tasks had used in a window when they came from one control group into another. A task's
/// figures of a window are told under the group it is in at its end, or was in when it exited; so
/// much of them is the other's. Cumulative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct GroupMove {
    pub from: u64,
    pub to: u64,
    pub run_ns: u64,
    pub lat_ns: u64,
    pub throttle_ns: u64,
}

impl GroupMove {
    /// What came on top of `earlier`.
    pub fn since(&self, earlier: &GroupMove) -> GroupMove {
        GroupMove {
            run_ns: self.run_ns.saturating_sub(earlier.run_ns),
            lat_ns: self.lat_ns.saturating_sub(earlier.lat_ns),
            throttle_ns: self.throttle_ns.saturating_sub(earlier.throttle_ns),
            ..*self
        }
    }
}

/// Where one CPU's time went, cumulative ns since the source began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct CpuSample {
    /// Number of the CPU.
    pub cpu: u32,
    /// Online at the snapshot's instant.
    pub online: bool,
    /// Executing tasks that have a name.
    pub task_ns: u64,
    /// Executing tasks that had no account while they ran.
    pub unnamed_ns: u64,
    pub idle_ns: u64,
    /// Interrupts, where measured; from tasks and from idle.
    pub irq_ns: Option<u64>,
    /// The part of `irq_ns` that hit nobody's account: idle or unnamed.
    pub irq_idle_ns: Option<u64>,
    /// Stolen, where measured; from tasks and from idle.
    pub steal_ns: Option<u64>,
    /// The part of `steal_ns` that hit nobody's account: idle or unnamed.
    pub steal_idle_ns: Option<u64>,
    /// Executed by tasks that exited when their group could not be kept; a part of `task_ns` of
    /// some CPU, not necessarily this one.
    pub no_name_ns: u64,
    /// How many processes ended so: whole ones.
    pub no_name_processes: u64,
    pub offline_ns: u64,
    /// Context switches.
    pub switches: Option<u64>,
    /// Switches that the kernel counted (`rq.nr_switches`, kernel/sched/core.c) and did not show;
    /// `None` where there is no such witness.
    pub missed_switches: Option<u64>,
    /// Time of the watched process on this CPU, when one is watched.
    pub watched_ns: Option<u64>,
    /// Dispatches of the watched process on this CPU.
    pub watched_dispatches: Option<u64>,
}

/// What ran and is told of as one sum: who is in a PID namespace is told of those in it, and so much of
/// all others. Cumulative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct Outside {
    /// Executing.
    pub run_ns: u64,
    /// Interrupts that hit them, where measured.
    pub irq_ns: u64,
    /// Stolen from them, where measured.
    pub steal_ns: u64,
}

impl Outside {
    /// What came on top of `earlier`.
    pub fn since(&self, earlier: &Outside) -> Outside {
        Outside {
            // Wrapping: a step back shows as an absurd residual instead of being hidden.
            run_ns: self.run_ns.wrapping_sub(earlier.run_ns),
            irq_ns: self.irq_ns.wrapping_sub(earlier.irq_ns),
            steal_ns: self.steal_ns.wrapping_sub(earlier.steal_ns),
        }
    }

    /// The sum.
    pub fn and(&self, other: &Outside) -> Outside {
        Outside {
            run_ns: self.run_ns.wrapping_add(other.run_ns),
            irq_ns: self.irq_ns.wrapping_add(other.irq_ns),
            steal_ns: self.steal_ns.wrapping_add(other.steal_ns),
        }
    }

    /// Interrupts that are not told apart are part of what they hit.
    pub(crate) fn fold_interrupts(&mut self) {
        self.run_ns = self.run_ns.wrapping_add(std::mem::take(&mut self.irq_ns));
    }
}

/// What looking cost, cumulative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct CostSample {
    /// CPU time of this process, from its own CPU clock.
    pub user_ns: u64,
    /// BPF events times their calibrated cost; `None` without BPF or before the calibration.
    pub bpf_ns: Option<u64>,
    pub bpf_events: Option<u64>,
}

impl ExitSample {
    /// A group in which nobody is yet.
    pub fn empty(account: AccountId, ancestors: [ProcessRef; 8], comm: Comm) -> ExitSample {
        ExitSample {
            account,
            of: ProcessRef::default(),
            ancestors,
            comm,
            cgroup_id: None,
            uid: None,
            tree: 0,
            processes: 0,
            tasks: 0,
            life_ns: 0,
            counters: Counters::zero(),
            audit: ExitAudit::default(),
        }
    }
}

/// Everything cumulative at one instant.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub struct Snapshot {
    /// The instant, CLOCK_MONOTONIC ns: the same for every CPU and task.
    pub at_ns: u64,
    /// Who filled it and how good it is.
    pub provenance: Provenance,
    /// True: `tasks` is everyone. False: only those that changed since the snapshot before; the
    /// others are still in the state they were in.
    pub complete: bool,
    pub tasks: Vec<TaskSample>,
    /// Accounts that ended since the snapshot before (when not `complete`).
    pub gone: Vec<AccountId>,
    /// Exited groups.
    pub exited: Vec<ExitSample>,
    /// What went from one control group's account to another's.
    pub moves: Vec<GroupMove>,
    /// Control groups whose names are told since the snapshot before: all that are known in the first
    /// that tells any. None, where nobody asked for names.
    pub groups: Vec<Arc<GroupName>>,
    pub cpus: Vec<CpuSample>,
    /// The process whose time on each CPU is counted from this instant on.
    pub watch: Option<u32>,
    /// Tasks born since the source began, processes and threads, where known.
    pub born: Option<u64>,
    /// Missed and impossible events so far.
    pub errors: ErrorCounts,
    /// CPU time between the last event that was seen before one that was not, and the next: so
    /// much was set right. `None` from sources that see no events.
    pub repaired_ns: Option<u64>,
    /// Waits for a CPU that were taken from the kernel's own counts, because the wake-up was not
    /// seen.
    pub repaired_wait_ns: Option<u64>,
    /// The machine.
    pub system: System,
    /// What looking cost so far.
    pub cost: CostSample,
    /// Those who are told of as one sum; `None`: everyone is told of.
    pub outside: Option<Outside>,
}

impl Snapshot {
    /// An instant of which nothing is known but that nothing went wrong.
    pub fn empty(provenance: Provenance, at_ns: u64) -> Snapshot {
        Snapshot {
            at_ns,
            provenance,
            complete: true,
            tasks: Vec::new(),
            gone: Vec::new(),
            exited: Vec::new(),
            moves: Vec::new(),
            groups: Vec::new(),
            cpus: Vec::new(),
            watch: None,
            born: None,
            errors: ErrorCounts::default(),
            repaired_ns: None,
            repaired_wait_ns: None,
            system: System::default(),
            cost: CostSample::default(),
            outside: None,
        }
    }
}
