//! The result of one run of a command: elapsed time, the kernel's own counts, and the ledger's
//! figures for the tree of its descendants.

pub mod statistics;

use crate::ledger::audit::Audit;
use crate::ledger::counters::{Counter, Counters};
use crate::ledger::errors::ErrorCounts;
use crate::ledger::exactness::{Repairs, WindowState};
use crate::ledger::key::Comm;
use std::collections::BTreeMap;

/// Exited processes with one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Exited {
    pub processes: u64,
    /// CPU time of these processes, ns.
    pub run_ns: u64,
}

/// Number of slowest processes that a report lists.
pub const SLOWEST: usize = 10;

/// One process that exited.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Single {
    pub pid: u32,
    pub ppid: u32,
    pub comm: Comm,
    /// Arguments with spaces between them; `None`: the process had exited before they were read.
    pub command: Option<Vec<u8>>,
    pub elapsed_ns: u64,
    /// CPU time from the kernel's task statistics, ns; a tick may be missing.
    pub run_ns: u64,
}

/// The slowest processes that exited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slowest {
    /// The slowest first.
    pub list: Vec<Single>,
    /// Exits without a record, or with a record of an unknown process. One of them may have been
    /// slower or larger.
    pub lost: u64,
    /// Largest resident set of an exited process, KiB; `None`: no process exited, or the kernel
    /// does not report it.
    pub max_resident_kib: Option<u64>,
}

impl Slowest {
    /// True if a process of this size would be the largest.
    pub fn is_larger(&self, resident_kib: Option<u64>) -> bool {
        resident_kib > self.max_resident_kib
    }

    /// True if a process of this duration would be in the list.
    pub fn takes(&self, elapsed_ns: u64) -> bool {
        self.list.len() < SLOWEST
            || self.list.last().is_some_and(|last| last.elapsed_ns < elapsed_ns)
    }

    /// Adds a process if it is one of the slowest.
    pub fn add(&mut self, single: Single) {
        let at = self.list.partition_point(|slower| slower.elapsed_ns >= single.elapsed_ns);
        self.list.insert(at, single);
        self.list.truncate(SLOWEST);
    }
}

/// Figures of a tree of descendants, from the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// Sum over all threads of the tree.
    pub delta: Counters,
    /// Time that its threads lived, summed, ns.
    pub life_ns: u64,
    /// Exited processes by name.
    pub exited: BTreeMap<Comm, Exited>,
    /// The slowest exited processes, or the reason in one line why they are missing.
    pub slowest: Result<Slowest, String>,
    /// Time on each CPU, ns; `None`: a daemon counts all trees as one.
    pub cpus: Option<BTreeMap<u32, u64>>,
    /// Tasks alive when the run ended.
    pub living: u64,
    /// True if every window was exact.
    pub exact: bool,
    /// State of the worst window.
    pub state: WindowState,
    /// Switches on the whole machine that the kernel counted and did not show; `None` if the source
    /// has no such count.
    pub missed_switches: Option<u64>,
    /// Repairs on the whole machine during the run.
    pub repaired: Repairs,
    /// Differences between the tree's run times and waits and the kernel's own counts.
    pub audit: Audit,
    /// Errors on the whole machine during the run.
    pub errors: ErrorCounts,
    /// Unnamed CPU time, ns; a part of it may be the tree's.
    pub unnamed_ns: u64,
    /// Sum of the windows' residuals without their sign, ns.
    pub residual_ns: u64,
    /// Tasks of the tree that the source saw only after their first window. Their use in that
    /// window is unknown.
    pub late_tasks: u64,
}

impl Default for Tree {
    fn default() -> Tree {
        Tree {
            delta: Counters::zero(),
            life_ns: 0,
            exited: BTreeMap::new(),
            slowest: Ok(Slowest::default()),
            cpus: Some(BTreeMap::new()),
            living: 0,
            exact: true,
            state: WindowState::Exact,
            missed_switches: Some(0),
            repaired: Repairs::nothing(),
            audit: Audit::nothing(),
            errors: ErrorCounts::default(),
            unnamed_ns: 0,
            residual_ns: 0,
            late_tasks: 0,
        }
    }
}

impl Tree {
    /// CPU time of the tree, ns.
    pub fn run_ns(&self) -> u64 {
        self.delta.get(Counter::RunNs).unwrap_or(0)
    }

    /// User and system time, ns, if measured at the system calls.
    pub fn exact_split_ns(&self) -> Option<(u64, u64)> {
        self.delta.exact_split_ns()
    }

    /// Number of processes that exited.
    pub fn processes(&self) -> u64 {
        self.exited.values().map(|e| e.processes).sum()
    }

    /// Number of tasks without a place in the ledger's tables, and the unnamed time, ns. A part of
    /// both may be the tree's. `None`: every task had a place.
    pub fn nameless(&self) -> Option<(u64, u64)> {
        let tasks = self.errors.without_place();
        (tasks > 0).then_some((tasks, self.unnamed_ns))
    }

    /// CPU time that the tree would have used without waiting for a CPU or a quota, ns.
    pub fn wanted_ns(&self) -> u64 {
        let of = |c| self.delta.get(c).unwrap_or(0);
        self.run_ns() + of(Counter::LatNs) + of(Counter::ThrottleNs)
    }
}

/// Result of wait4(2) for the command and for the descendants that their parents waited for
/// (getrusage(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Rusage {
    pub user_ns: u64,
    pub system_ns: u64,
    /// Largest resident set of one of these processes, KiB.
    pub max_resident_kib: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// Blocks of 512 bytes read.
    pub blocks_in: u64,
    /// Blocks of 512 bytes written.
    pub blocks_out: u64,
    /// Voluntary context switches.
    pub vcx: u64,
    /// Involuntary context switches.
    pub icx: u64,
}

/// End of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It exited with this status.
    Exited(i32),
    /// This signal killed it.
    Killed(i32),
}

impl End {
    /// The status that a shell would report.
    pub fn status(self) -> i32 {
        match self {
            End::Exited(status) => status,
            End::Killed(signal) => 128 + signal,
        }
    }
}

/// The kernel's counters of a control group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct CpuStat {
    /// CPU time of its tasks and of all groups below it, ns.
    pub usage_ns: Option<u64>,
    pub user_ns: Option<u64>,
    pub system_ns: Option<u64>,
    /// Periods of its quota in which a task wanted to run.
    pub nr_periods: Option<u64>,
    /// Periods in which the quota was used up.
    pub nr_throttled: Option<u64>,
    /// Throttled time summed over CPUs, ns.
    pub throttled_ns: Option<u64>,
}

impl CpuStat {
    /// The increase since `before`.
    pub fn since(&self, before: &CpuStat) -> CpuStat {
        let minus = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
        CpuStat {
            usage_ns: minus(self.usage_ns, before.usage_ns),
            user_ns: minus(self.user_ns, before.user_ns),
            system_ns: minus(self.system_ns, before.system_ns),
            nr_periods: minus(self.nr_periods, before.nr_periods),
            nr_throttled: minus(self.nr_throttled, before.nr_throttled),
            throttled_ns: minus(self.throttled_ns, before.throttled_ns),
        }
    }
}

/// The control group of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunGroup {
    /// Path below the root of its hierarchy.
    pub path: String,
    /// Use of the group in the run.
    pub stat: CpuStat,
    /// Number of CPUs that its quota allows; `None`: no quota.
    pub allowed_cpus: Option<f64>,
    /// True if no other process was in the group.
    pub own: bool,
}

/// The report of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReport {
    /// The command and its arguments.
    pub command: Vec<String>,
    /// End of the command.
    pub end: End,
    /// Elapsed time, ns.
    pub elapsed_ns: u64,
    /// Figures from wait4(2).
    pub rusage: Rusage,
    /// Resident set of the process that starts the command, KiB. The kernel passes it on, so a
    /// maximum below this is not the command's.
    pub resident_floor_kib: u64,
    /// Figures from the ledger, or the reason in one line why they are missing.
    pub tree: Result<Tree, String>,
    /// The control group, if the run had its own or joined one.
    pub group: Option<RunGroup>,
}

impl RunReport {
    /// User and system time, ns: of the whole tree if the ledger has it, else of the descendants
    /// that were waited for. The ledger's time is split by the kernel's ticks unless it was
    /// measured.
    pub fn user_system_ns(&self) -> (u64, u64) {
        let (user, system) = (self.rusage.user_ns, self.rusage.system_ns);
        let Ok(tree) = &self.tree else { return (user, system) };
        if let Some(exact) = tree.exact_split_ns() {
            return exact;
        }
        let of = |c| tree.delta.get(c).unwrap_or(0);
        let (ticks_user, ticks) = match of(Counter::UtimeNs) + of(Counter::StimeNs) {
            0 => (user, user + system),
            both => (of(Counter::UtimeNs), both),
        };
        let run = tree.run_ns();
        let part = (u128::from(run) * u128::from(ticks_user)).checked_div(ticks.into());
        let user = part.map_or(0, |part| u64::try_from(part).unwrap_or(run));
        (user, run - user)
    }

    /// Largest resident set, KiB. Two sources are compared: wait4(2), unless its value is that of
    /// the process that started the command, and the exit records of all processes. `None` if
    /// neither has a value.
    pub fn max_resident_kib(&self) -> Option<u64> {
        let waited =
            Some(self.rusage.max_resident_kib).filter(|&kib| kib > self.resident_floor_kib);
        let exits = self.tree.as_ref().ok().and_then(|tree| tree.slowest.as_ref().ok());
        let told = exits.filter(|exits| exits.lost == 0).and_then(|exits| exits.max_resident_kib);
        told.max(waited)
    }

    /// CPU time, ns.
    pub fn cpu_ns(&self) -> u64 {
        match &self.tree {
            Ok(tree) => tree.run_ns(),
            Err(_) => self.rusage.user_ns + self.rusage.system_ns,
        }
    }
}
