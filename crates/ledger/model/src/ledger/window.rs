//! The changes between two snapshots.

use crate::blame::Blame;
use crate::ledger::audit::{Audit, ExitAudit, TaskAudit};
use crate::ledger::counters::Counters;
use crate::ledger::errors::ErrorCounts;
use crate::ledger::snapshot::{
    CostSample, CpuSample, ExitSample, GroupMove, Outside, Snapshot, TaskSample,
};
use crate::ledger::system::StatTicks;

/// One task in one window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaskDelta {
    /// The task as of the window's end; its counters are cumulative.
    pub sample: TaskSample,
    /// The part of its life inside the window, ns.
    pub life_ns: u64,
    /// Increase of its counters in the window.
    pub delta: Counters,
    /// Differences from the kernel's own counts; `None` in the task's first window.
    pub audit: Option<TaskAudit>,
}

impl TaskDelta {
    /// Use of the task so far, if it now moves to another control group; `None` if it does not, or
    /// if the source does not give groups.
    pub(crate) fn moved_to(&self, now: Option<u64>) -> Option<GroupMove> {
        let (from, to) = self.sample.ident.cgroup_id.zip(now).filter(|(from, to)| from != to)?;
        Some(GroupMove { from, to, used: self.delta })
    }
}

/// One group of exited tasks in one window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExitDelta {
    /// The group; its counters are cumulative.
    pub sample: ExitSample,
    /// Number of processes that exited in the window.
    pub processes: u64,
    /// Number of tasks that exited in the window.
    pub tasks: u64,
    /// Time that they lived inside the window, summed, ns.
    pub life_ns: u64,
    /// Increase of the counters in the window.
    pub delta: Counters,
    /// Differences from the kernel's own counts.
    pub audit: ExitAudit,
}

/// One CPU in one window; the fields are increases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuDelta {
    /// The increases; `cpu` and `online` are as of the window's end.
    pub time: CpuSample,
    /// Window length less the sum of this CPU's accounts, ns.
    pub residual_ns: i64,
}

/// The changes in (T0, T1].
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Start, CLOCK_MONOTONIC ns, exclusive.
    pub t0_ns: u64,
    /// End, CLOCK_MONOTONIC ns, inclusive.
    pub t1_ns: u64,
    /// Tasks with an event, or all tasks if the source reads all.
    pub tasks: Vec<TaskDelta>,
    /// Groups in which a task exited.
    pub exited: Vec<ExitDelta>,
    /// Use of tasks in the window before they changed their control group.
    pub moves: Vec<GroupMove>,
    /// CPUs that were online at any time in the window.
    pub cpus: Vec<CpuDelta>,
    /// Missed and impossible events in the window.
    pub errors: ErrorCounts,
    /// CPU time that was repaired after missed switches, ns.
    pub repaired_ns: Option<u64>,
    /// Waits that came from the kernel's own counts, ns.
    pub repaired_wait_ns: Option<u64>,
    /// Number of repaired tasks.
    pub repaired_tasks: Option<u64>,
    /// Differences between the tasks' run times and waits and the kernel's own counts.
    pub audit: Audit,
    /// Tasks born in the window.
    pub born: Option<u64>,
    /// The kernel's tick counts over the window, if read.
    pub ticks: Option<StatTicks>,
    /// The kernel's tick counts of each CPU.
    pub cpu_ticks: Vec<(u32, StatTicks)>,
    /// Cost of measuring in the window.
    pub cost: CostSample,
    /// Tasks outside of the PID namespace, as one sum; `None`: every task has its own account.
    pub outside: Option<Outside>,
    /// The blame book; `None`: the source keeps none.
    pub blame: Option<Blame>,
    /// The snapshot at the end, without its tasks and exited groups.
    pub end: Snapshot,
}

impl Window {
    /// Length of the window, ns.
    pub fn length_ns(&self) -> u64 {
        self.t1_ns - self.t0_ns
    }

    /// True if interrupts were measured separately, all the time.
    pub fn measures_interrupts(&self) -> bool {
        self.cpus.iter().all(|cpu| cpu.time.irq_ns.is_some())
    }

    /// True if the window began with the boot; no measured window does.
    pub fn is_since_boot(&self) -> bool {
        self.t0_ns == 0
    }

    /// Switches that the kernel counted and did not show; `None` if the source has no such count.
    pub fn missed_switches(&self) -> Option<u64> {
        self.cpus.iter().map(|c| c.time.missed_switches).sum()
    }
}

/// Number of tasks, by state letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct Census {
    pub total: u32,
    /// R.
    pub running: u32,
    /// S and I.
    pub sleeping: u32,
    /// D.
    pub blocked: u32,
    /// T and t.
    pub stopped: u32,
    /// Z.
    pub zombie: u32,
}

impl Census {
    /// Adds `by` to the count of this state.
    pub(crate) fn count(&mut self, letter: char, by: i32) {
        let add = |n: &mut u32| *n = n.wrapping_add_signed(by);
        add(&mut self.total);
        match letter {
            'R' => add(&mut self.running),
            'D' => add(&mut self.blocked),
            'T' | 't' => add(&mut self.stopped),
            'Z' => add(&mut self.zombie),
            _ => add(&mut self.sleeping),
        }
    }
}
