//! What happened between two snapshots, and to whom.

use crate::ledger::audit::{Audit, ExitAudit, TaskAudit};
use crate::ledger::counters::{Counter, Counters};
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
    /// The part of its life inside the window.
    pub life_ns: u64,
    /// What its counters did in the window.
    pub delta: Counters,
    /// How far that is from the kernel's own counts; `None` when it is seen for the first time.
    pub audit: Option<TaskAudit>,
}

impl TaskDelta {
    /// What it has used so far where from now on it is told under another group; `None`: under the same one, or
    /// the source does not tell groups.
    pub(crate) fn moved_to(&self, now: Option<u64>) -> Option<GroupMove> {
        let (from, to) = self.sample.ident.cgroup_id.zip(now).filter(|(from, to)| from != to)?;
        let used = |counter| self.delta.get(counter).unwrap_or(0);
        Some(GroupMove {
            from,
            to,
            run_ns: used(Counter::RunNs),
            lat_ns: used(Counter::LatNs),
            throttle_ns: used(Counter::ThrottleNs),
        })
    }
}

/// One group of exited tasks in one window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExitDelta {
    /// The group; its counters are cumulative.
    pub sample: ExitSample,
    /// Processes that exited in the window.
    pub processes: u64,
    /// Tasks that exited in the window.
    pub tasks: u64,
    /// Sum of their lifetimes inside the window.
    pub life_ns: u64,
    /// What they did in the window.
    pub delta: Counters,
    /// How far that is from the kernel's own counts.
    pub audit: ExitAudit,
}

/// One CPU in one window; the fields are differences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuDelta {
    /// The differences; `cpu` and `online` are as of the end.
    pub time: CpuSample,
    /// The window minus the sum of this CPU's accounts.
    pub residual_ns: i64,
}

/// What happened in (T0, T1].
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// The start, exclusive.
    pub t0_ns: u64,
    /// The end, inclusive.
    pub t1_ns: u64,
    /// Tasks that did something, or everyone if the source reads everyone.
    pub tasks: Vec<TaskDelta>,
    /// Groups in which a task exited.
    pub exited: Vec<ExitDelta>,
    /// What tasks had used in the window before they changed their control group.
    pub moves: Vec<GroupMove>,
    /// CPUs that were online at any time in the window.
    pub cpus: Vec<CpuDelta>,
    /// Missed and impossible events in the window.
    pub errors: ErrorCounts,
    /// How much CPU time was set right after missed switches.
    pub repaired_ns: Option<u64>,
    /// How much waiting was taken from the kernel's own counts.
    pub repaired_wait_ns: Option<u64>,
    /// How many tasks something was set right of.
    pub repaired_tasks: Option<u64>,
    /// The tasks' run times and waits held against the kernel's own counts.
    pub audit: Audit,
    /// Tasks born in the window.
    pub born: Option<u64>,
    /// The kernel's own tick counts over the window, where read.
    pub ticks: Option<StatTicks>,
    /// The same for each CPU.
    pub cpu_ticks: Vec<(u32, StatTicks)>,
    /// What looking cost in the window.
    pub cost: CostSample,
    /// What those did who are told of as one sum; `None`: everyone is told of.
    pub outside: Option<Outside>,
    /// The snapshot at the end, without its tasks and exited groups.
    pub end: Snapshot,
}

impl Window {
    /// Its length.
    pub fn length_ns(&self) -> u64 {
        self.t1_ns - self.t0_ns
    }

    /// Whether it began with the machine: no window that was measured does.
    pub fn is_since_boot(&self) -> bool {
        self.t0_ns == 0
    }

    /// Switches that the kernel counted and did not show; `None` without that witness.
    pub fn missed_switches(&self) -> Option<u64> {
        self.cpus.iter().map(|c| c.time.missed_switches).sum()
    }
}

/// How many tasks there are, by state letter.
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
    /// One more or one less in this state.
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
