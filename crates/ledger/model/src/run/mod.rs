//! What one run of a command came to: the clock, the kernel's own counts, and the ledger's for the
//! whole tree of its descendants.

pub mod statistics;

use crate::ledger::audit::Audit;
use crate::ledger::counters::{Counter, Counters};
use crate::ledger::errors::ErrorCounts;
use crate::ledger::exactness::{Repairs, WindowState};
use crate::ledger::key::Comm;
use std::collections::BTreeMap;

/// Exited processes of one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Exited {
    pub processes: u64,
    /// Their CPU time, ns.
    pub run_ns: u64,
}

/// So many of the slowest processes are told.
pub const SLOWEST: usize = 10;

/// One process that exited.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Single {
    pub pid: u32,
    pub ppid: u32,
    pub comm: Comm,
    /// Its arguments with spaces between them; `None`: it was gone before anyone looked.
    pub command: Option<Vec<u8>>,
    pub elapsed_ns: u64,
    /// CPU time as the kernel's task statistics have it, which may lack a tick.
    pub run_ns: u64,
}

/// The slowest processes that exited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slowest {
    /// The slowest first.
    pub list: Vec<Single>,
    /// Exits of which nothing is known, or not whose they are: one of them may have been slower, or larger.
    pub lost: u64,
    /// The largest resident set of one that exited, KiB; `None`: none did, or the kernel does not tell.
    pub max_resident_kib: Option<u64>,
}

impl Slowest {
    /// Whether a process of this size would be the largest.
    pub fn is_larger(&self, resident_kib: Option<u64>) -> bool {
        resident_kib > self.max_resident_kib
    }

    /// Whether a process that took so long would be among them.
    pub fn takes(&self, elapsed_ns: u64) -> bool {
        self.list.len() < SLOWEST
            || self.list.last().is_some_and(|last| last.elapsed_ns < elapsed_ns)
    }

    /// Takes a process, if it is one of the slowest.
    pub fn add(&mut self, single: Single) {
        let at = self.list.partition_point(|slower| slower.elapsed_ns >= single.elapsed_ns);
        self.list.insert(at, single);
        self.list.truncate(SLOWEST);
    }
}

/// What a tree of descendants did, from the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// Sums over all its threads.
    pub delta: Counters,
    /// Their lives, ns.
    pub life_ns: u64,
    /// Exited processes by name.
    pub exited: BTreeMap<Comm, Exited>,
    /// The slowest that exited; else why they are not known, in one line.
    pub slowest: Result<Slowest, String>,
    /// Time on each CPU it ran on, ns; `None`: a daemon counts all trees as one.
    pub cpus: Option<BTreeMap<u32, u64>>,
    /// Tasks that lived when it ended.
    pub living: u64,
    /// Whether every window was exact.
    pub exact: bool,
    /// The worst state of a window.
    pub state: WindowState,
    /// Switches on the whole machine that the kernel counted and did not show; `None` without that
    /// witness.
    pub missed_switches: Option<u64>,
    /// What was set right on the whole machine meanwhile.
    pub repaired: Repairs,
    /// The tree's own run times and waits held against the kernel's own counts.
    pub audit: Audit,
    /// What went wrong meanwhile, on the whole machine.
    pub errors: ErrorCounts,
    /// CPU time that has nobody's name, ns: some of it may be the tree's.
    pub unnamed_ns: u64,
    /// What is missing for the books of its windows to close, without sign, ns.
    pub residual_ns: u64,
    /// Tasks of the tree that were first seen after their first window: what they did in it is not
    /// known.
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
    /// CPU time of all of it, ns.
    pub fn run_ns(&self) -> u64 {
        self.delta.get(Counter::RunNs).unwrap_or(0)
    }

    /// User and system time, ns, if they were measured at the system calls.
    pub fn exact_split_ns(&self) -> Option<(u64, u64)> {
        let of = |c| self.delta.get(c);
        let (user, system) = (of(Counter::UserNs)?, of(Counter::SystemNs)?);
        (user + system == self.run_ns()).then_some((user, system))
    }

    /// Processes that exited.
    pub fn processes(&self) -> u64 {
        self.exited.values().map(|e| e.processes).sum()
    }

    /// How often a task found no place in the ledger's tables, and the time that has no name; of both
    /// some may be the tree's. `None`: every task had a place.
    pub fn nameless(&self) -> Option<(u64, u64)> {
        let tasks = self.errors.want_of_place();
        (tasks > 0).then_some((tasks, self.unnamed_ns))
    }

    /// CPU time it would have used if it had never waited for a CPU or a quota, ns.
    pub fn wanted_ns(&self) -> u64 {
        let of = |c| self.delta.get(c).unwrap_or(0);
        self.run_ns() + of(Counter::LatNs) + of(Counter::ThrottleNs)
    }
}

/// What wait4(2) says of the command and of those descendants that were waited for (getrusage(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Rusage {
    pub user_ns: u64,
    pub system_ns: u64,
    /// The largest resident set of any of them, KiB.
    pub max_resident_kib: u64,
    /// Faults without I/O.
    pub minor_faults: u64,
    /// Faults with I/O.
    pub major_faults: u64,
    /// Blocks of 512 bytes read.
    pub blocks_in: u64,
    /// Blocks written.
    pub blocks_out: u64,
    /// Voluntary context switches.
    pub vcx: u64,
    /// Involuntary ones.
    pub icx: u64,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

impl End {
    /// The status a shell would report.
    pub fn status(self) -> i32 {
        match self {
            End::Exited(status) => status,
            End::Killed(signal) => 128 + signal,
        }
    }
}

/// What the kernel says of a control group over a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct CpuStat {
    /// CPU time of its tasks and of all groups below, ns.
    pub usage_ns: Option<u64>,
    pub user_ns: Option<u64>,
    pub system_ns: Option<u64>,
    /// Periods of its quota in which someone wanted to run.
    pub nr_periods: Option<u64>,
    /// Those in which the quota was used up.
    pub nr_throttled: Option<u64>,
    /// How long it was throttled, over CPUs, ns.
    pub throttled_ns: Option<u64>,
}

impl CpuStat {
    /// What came on top of `before`.
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

/// The control group a run had.
#[derive(Clone, Debug, PartialEq)]
pub struct RunGroup {
    /// Its name below the root of its hierarchy.
    pub path: String,
    /// What it used.
    pub stat: CpuStat,
    /// CPUs its quota allows; `None`: no quota.
    pub allowed_cpus: Option<f64>,
    /// Whether nobody else was in it.
    pub own: bool,
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReport {
    /// The command and its arguments.
    pub command: Vec<String>,
    /// How it ended.
    pub end: End,
    /// By the clock, ns.
    pub elapsed_ns: u64,
    /// By wait4(2).
    pub rusage: Rusage,
    /// The kernel passes on the resident set of whoever starts a command, KiB: a largest one below
    /// this is not the command's.
    pub resident_floor_kib: u64,
    /// By the ledger; else why there is none, in one line.
    pub tree: Result<Tree, String>,
    /// The control group, if it had one of its own or joined one.
    pub group: Option<RunGroup>,
}

impl RunReport {
    /// User and system time, ns: of the whole tree where the ledger knows, else of those that were
    /// waited for. The ledger's time is split by the kernel's ticks unless it was measured.
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

    /// The largest resident set, KiB: of those waited for as wait4(2) has it, where that is not of whoever
    /// started the command, and of all others as their exits tell. `None` where neither says.
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
