//! Findings of a window: tasks that wait for a CPU or a quota, activity that polling misses, and
//! time without a name. They use only figures that the source measures in any case. Each finding
//! has the figures that support it.
//!
//! The constants here are the thresholds; docs/reference/findings.md explains them.

pub(crate) mod culprits;
mod quotas;

pub use culprits::{Behind, CulpritOwner};
pub use quotas::{by_quota, Quota};

use crate::cgroups::{uses, GroupUse};
use crate::ledger::book::Book;
use crate::ledger::books::Books;
use crate::ledger::counters::{Counter, Counters};
use crate::ledger::errors::ErrorCounts;
use crate::ledger::key::{Comm, TaskKey};
use crate::ledger::provenance::SourceKind;
use crate::ledger::snapshot::ExitSample;
use crate::ledger::window::{TaskDelta, Window};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// Least size of a finding, as a part of one CPU. Findings on missing time have no such limit.
pub const LEAST_OF_A_CPU: f64 = 0.05;
/// Least throttled time of a group, as a part of the time that it wanted to run.
pub const THROTTLED: f64 = 0.10;
/// Number of SCHED_DEADLINE (include/uapi/linux/sched.h).
const SCHED_DEADLINE: u32 = 6;
/// Least run-queue wait of a program, as a part of the time that it wanted to run.
pub const WAITED: f64 = 0.50;
/// Least run-queue wait of a program, as a part of the window.
pub const WAITED_OF_WINDOW: f64 = 0.20;
/// Longest mean life of a group of exited processes that counts as short, ns. Only the part of a
/// life in the window is known.
pub const SHORT_LIFE_NS: u64 = 10_000_000;
/// Least number of processes in a group of short lives. In a smaller group, one old process that
/// exits as the window begins would look short-lived.
pub const SHORT_LIVES: u64 = 10;
/// Shortest window that can have a finding on short lives, ns. In a shorter window every life is
/// short.
pub const LEAST_WINDOW_NS: u64 = 10 * SHORT_LIFE_NS;
/// Least CPU time of short lives, as a part of all CPU time used.
pub const SHORT_LIVED: f64 = 0.10;
/// Least stolen time, as a part of the time in which CPUs were not idle.
pub const STOLEN: f64 = 0.05;
/// Least unnamed time, as a part of the CPU time used, for a source that keeps books.
pub const UNNAMED: f64 = 0.01;
/// The same for a source that keeps no books: its unnamed time includes exited tasks.
pub const UNNAMED_BY_TICKS: f64 = 0.10;
/// Most findings of one kind on groups or programs; the worst stay.
pub const MOST_OF_A_KIND: usize = 3;

/// One finding of a window.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Kind of finding, with its figures.
    pub what: FindingKind,
    /// CPU time or waits that the finding covers, ns; the worst finding has most.
    pub about_ns: u64,
    /// True if the figures come from a source that samples.
    pub sampled: bool,
}

/// Kind of finding.
#[derive(Clone, Debug, PartialEq)]
pub enum FindingKind {
    /// A quota held back a control group's tasks.
    Throttled(Throttled),
    /// Programs of one name waited for a CPU for most of the time in which they wanted to run.
    Waited(Waited),
    /// Short-lived processes used much CPU time.
    ShortLived(ShortLived),
    /// The hypervisor took CPU time.
    Stolen {
        /// Stolen time, summed over CPUs, ns.
        steal_ns: u64,
        /// Time in which CPUs were not idle, steal included, ns.
        busy_ns: u64,
    },
    /// CPU time without a name.
    Unnamed {
        /// Unnamed time, ns.
        unnamed_ns: u64,
        /// CPU time used, ns.
        used_ns: u64,
        /// The source that cannot name it.
        source: SourceKind,
    },
    /// The books do not close.
    Residual {
        /// The residual, ns.
        residual_ns: i64,
    },
    /// Events were missed and could not be repaired.
    Missed(ErrorCounts),
}

/// A group that a quota held back.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub struct Throttled {
    pub cgroup_id: u64,
    /// Path of the group, raw bytes, if it was read.
    pub path: Option<Vec<u8>>,
    /// CPUs that the group's own quota allows, if the quota was read.
    pub allowed_cpus: Option<f64>,
    /// Number of groups below it whose tasks its quota held back, if known.
    pub groups_below: usize,
    /// The process of the group that was throttled longest, if a living process was throttled.
    pub worst: Option<TaskKey>,
    /// Name of the process that was throttled longest, living or exited.
    pub comm: Comm,
    pub run_ns: u64,
    pub lat_ns: u64,
    pub throttle_ns: u64,
}

/// Programs of one name that waited for a CPU.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub struct Waited {
    pub comm: Comm,
    /// Number of processes that ran or waited, exited ones included.
    pub processes: u64,
    /// The living process that waited longest.
    pub worst: Option<TaskKey>,
    pub run_ns: u64,
    pub lat_ns: u64,
    pub throttle_ns: u64,
    /// Who had the CPU meanwhile, the worst first; empty: no blame book was kept.
    pub culprits: Vec<Behind>,
}

/// Processes with short lives.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub struct ShortLived {
    /// CPU time of all short-lived processes, ns.
    pub all_ns: u64,
    /// CPU time of all tasks, ns.
    pub used_ns: u64,
    /// Name that used most, and the name of its nearest living ancestor, if any.
    pub comm: Comm,
    pub under: Option<Comm>,
    pub processes: u64,
    pub run_ns: u64,
    /// Mean life of all short-lived processes inside the window, ns.
    pub mean_life_ns: u64,
}

/// The view that shows more about a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leads {
    /// The page of control groups, and the group there by the kernel's id.
    Groups(u64),
    /// A process's page.
    Process(TaskKey),
    /// Totals by command, and the command there.
    Totals(Comm),
    /// The balance of each CPU.
    Cpus,
    /// The page on the window's quality.
    Quality,
}

/// The subject of a finding; it identifies the finding from one window to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A control group, by the kernel's id.
    Group(u64),
    /// Programs of one name.
    Program(Comm),
    /// The machine.
    Machine(&'static str),
}

impl Finding {
    /// The subject of this finding.
    pub fn subject(&self) -> Subject {
        match &self.what {
            FindingKind::Throttled(group) => Subject::Group(group.cgroup_id),
            FindingKind::Waited(program) => Subject::Program(program.comm),
            _ => Subject::Machine(self.id()),
        }
    }

    fn new(what: FindingKind, about_ns: u64) -> Finding {
        Finding { what, about_ns, sampled: false }
    }

    /// Id of the finding in the documentation.
    pub const fn id(&self) -> &'static str {
        match self.what {
            FindingKind::Throttled(_) => "throttled",
            FindingKind::Waited(_) => "waiting",
            FindingKind::ShortLived(_) => "short-lived",
            FindingKind::Stolen { .. } => "steal",
            FindingKind::Unnamed { .. } => "unnamed",
            FindingKind::Residual { .. } => "residual",
            FindingKind::Missed(_) => "missed",
        }
    }

    /// The view that shows more.
    pub fn leads(&self) -> Leads {
        match &self.what {
            FindingKind::Throttled(group) => Leads::Groups(group.cgroup_id),
            FindingKind::Waited(Waited { worst: Some(key), .. }) => Leads::Process(*key),
            FindingKind::Waited(program) => Leads::Totals(program.comm),
            FindingKind::ShortLived(lives) => Leads::Totals(lives.comm),
            FindingKind::Stolen { .. } => Leads::Cpus,
            FindingKind::Unnamed { .. } | FindingKind::Residual { .. } | FindingKind::Missed(_) => {
                Leads::Quality
            }
        }
    }
}

/// All findings of a window: missed events first, then the worst first, and a cause above the waits
/// that it causes. `book` yielded the window
/// and has not advanced since. A frame since boot has no findings.
pub fn find(window: &Window, book: &Book) -> Vec<Finding> {
    if window.is_since_boot() {
        return Vec::new();
    }
    let books = Books::from_window(window);
    let looking = FindingSearch {
        window,
        book,
        used_ns: books.tasks_ns
            + books.exited_ns
            + books.outside_ns.unwrap_or(0)
            + books.unnamed_ns,
        still: book.waited_throughout(window),
    };
    let mut found = looking.throttled();
    found.extend(looking.waited());
    found.extend(looking.short_lived());
    found.extend(stolen(&books));
    found.extend(looking.unnamed(&books));
    let least_ns = (LEAST_OF_A_CPU * window.length_ns() as f64) as u64;
    found.retain(|finding| finding.about_ns >= least_ns.max(1));
    found.extend(missing(window, &books));
    let sampled = !window.end.provenance.source.keeps_books();
    found.iter_mut().for_each(|finding| finding.sampled = sampled);
    // Missed events stand first: they make the other figures uncertain.
    let is_missed = |finding: &Finding| matches!(finding.what, FindingKind::Missed(_));
    found.sort_by_key(|finding| (!is_missed(finding), Reverse(finding.about_ns)));
    culprits::causes_first(&mut found);
    found
}

fn part(of_ns: u64, all_ns: u64) -> f64 {
    of_ns as f64 / all_ns.max(1) as f64
}

struct FindingSearch<'a> {
    window: &'a Window,
    book: &'a Book,
    used_ns: u64,
    /// Tasks without an event in the window, because they waited throughout.
    still: Vec<TaskDelta>,
}

/// Counters of a program, summed over its processes.
#[derive(Default)]
struct Program {
    sum: GroupUse,
    /// Living processes and the wait of each, ns.
    processes: FxHashMap<TaskKey, u64>,
    exited: u64,
}

/// Throttled time in a group: of each living process, and of each name of exited tasks.
#[derive(Default)]
struct Losers {
    processes: FxHashMap<(TaskKey, Comm), u64>,
    exited: FxHashMap<Comm, u64>,
    /// Time in which SCHED_DEADLINE tasks waited for their own budget, not for the group's quota,
    /// ns.
    own_ns: u64,
}

impl Losers {
    /// The process or name that was throttled longest; of two equal ones the living process.
    fn worst(&self) -> (Option<TaskKey>, Comm) {
        let living = self.processes.iter().map(|(&(key, comm), &ns)| (ns, Some(key), comm));
        let exited = self.exited.iter().map(|(&comm, &ns)| (ns, None, comm));
        let worst = living.chain(exited).max();
        worst.map_or((None, Comm::default()), |(_, key, comm)| (key, comm))
    }
}

impl FindingSearch<'_> {
    fn tasks(&self) -> impl Iterator<Item = &TaskDelta> {
        self.window.tasks.iter().chain(&self.still)
    }

    /// The groups that were throttled longest.
    fn throttled(&self) -> Vec<Finding> {
        let told = |group: &Throttled| part(group.throttle_ns, group.wanted_ns()) >= THROTTLED;
        let groups = self.held_back().1.into_iter().filter(told);
        let finding = |group: Throttled| {
            let about_ns = group.throttle_ns;
            Finding::new(FindingKind::Throttled(group), about_ns)
        };
        most(groups.map(finding).collect())
    }

    /// The use of each group, and the throttled groups, the longest throttled first.
    fn held_back(&self) -> (FxHashMap<u64, GroupUse>, Vec<Throttled>) {
        let mut losers: FxHashMap<u64, Losers> = FxHashMap::default();
        for task in self.tasks() {
            let throttled = known(&task.delta, Counter::ThrottleNs);
            let Some(id) = task.sample.ident.cgroup_id.filter(|_| throttled > 0) else { continue };
            let losers = losers.entry(id).or_default();
            if task.sample.ident.policy == SCHED_DEADLINE {
                losers.own_ns += throttled;
                continue;
            }
            let process = self.book.leader(&task.sample);
            let who = (process.key, process.ident.comm);
            *losers.processes.entry(who).or_default() += throttled;
        }
        for exit in &self.window.exited {
            let throttled = known(&exit.delta, Counter::ThrottleNs);
            let Some(id) = exit.sample.cgroup_id.filter(|_| throttled > 0) else { continue };
            *losers.entry(id).or_default().exited.entry(exit.sample.comm).or_default() += throttled;
        }
        if losers.is_empty() {
            return (FxHashMap::default(), Vec::new());
        }
        let mut uses = uses(self.window, self.book);
        // Leave out the time in which a SCHED_DEADLINE task's own budget held it back.
        for (id, losers) in &losers {
            if let Some(used) = uses.get_mut(id) {
                used.throttle_ns = used.throttle_ns.saturating_sub(losers.own_ns);
            }
        }
        let group = |(id, losers): (&u64, &Losers)| Some(self.group(*id, uses.get(id)?, losers));
        let mut groups: Vec<Throttled> = losers.iter().filter_map(group).collect();
        groups.retain(|group| group.throttle_ns > 0);
        groups.sort_by_key(|group| (Reverse(group.throttle_ns), group.cgroup_id));
        (uses, groups)
    }

    fn group(&self, cgroup_id: u64, used: &GroupUse, losers: &Losers) -> Throttled {
        let name = self.book.group(cgroup_id);
        let (worst, comm) = losers.worst();
        Throttled {
            cgroup_id,
            path: name.map(|group| group.path.clone()),
            allowed_cpus: None,
            groups_below: 0,
            worst,
            comm,
            run_ns: used.run_ns,
            lat_ns: used.lat_ns,
            throttle_ns: used.throttle_ns,
        }
    }

    /// The programs that waited longest.
    fn waited(&self) -> Vec<Finding> {
        let mut programs: FxHashMap<Comm, Program> = FxHashMap::default();
        for task in self.tasks() {
            let process = self.book.leader(&task.sample);
            let program = programs.entry(process.ident.comm).or_default();
            program.add(&task.delta);
            *program.processes.entry(process.key).or_default() +=
                known(&task.delta, Counter::LatNs);
        }
        for exit in &self.window.exited {
            let process = self.book.living(exit.sample.of);
            let comm = process.map_or(exit.sample.comm, |leader| leader.ident.comm);
            let program = programs.entry(comm).or_default();
            program.add(&exit.delta);
            program.exited += exit.processes;
        }
        let least_ns = (WAITED_OF_WINDOW * self.window.length_ns() as f64) as u64;
        let waited = programs.into_iter().filter(|(_, program)| {
            let Program { sum, .. } = program;
            sum.lat_ns >= least_ns.max(1) && part(sum.lat_ns, sum.wanted_ns()) >= WAITED
        });
        let mut found = most(waited.map(|(comm, program)| program.finding(comm)).collect());
        for finding in &mut found {
            let FindingKind::Waited(waited) = &mut finding.what else { continue };
            let Some(blame) = &self.window.blame else { continue };
            let comm = waited.comm;
            waited.culprits = culprits::culprits(blame, |party| party.comm == comm, self.book);
        }
        found
    }

    /// Groups of processes with a short mean life, under the name that used most.
    fn short_lived(&self) -> Option<Finding> {
        if self.window.length_ns() < LEAST_WINDOW_NS {
            return None;
        }
        let mut names: FxHashMap<(Comm, Option<Comm>), [u64; 2]> = FxHashMap::default();
        let [mut all_ns, mut tasks, mut life_ns] = [0; 3];
        for exit in self.window.exited.iter().filter(|exit| exit.processes >= SHORT_LIVES) {
            if exit.life_ns / exit.tasks.max(1) >= SHORT_LIFE_NS {
                continue;
            }
            let run_ns = known(&exit.delta, Counter::RunNs);
            let [sum_ns, processes] =
                names.entry((exit.sample.comm, self.under(&exit.sample))).or_default();
            *sum_ns += run_ns;
            *processes += exit.processes;
            all_ns += run_ns;
            tasks += exit.tasks;
            life_ns += exit.life_ns;
        }
        let ((comm, under), [run_ns, processes]) =
            names.into_iter().max_by_key(|(name, [run_ns, _])| (*run_ns, *name))?;
        let told = part(all_ns, self.used_ns) >= SHORT_LIVED;
        let (used_ns, mean_life_ns) = (self.used_ns, life_ns / tasks.max(1));
        let what = ShortLived { all_ns, used_ns, comm, under, processes, run_ns, mean_life_ns };
        told.then(|| Finding::new(FindingKind::ShortLived(what), all_ns))
    }

    /// Name of the nearest living ancestor.
    fn under(&self, exit: &ExitSample) -> Option<Comm> {
        let above = exit.ancestors.iter().filter(|ancestor| ancestor.tgid != 0);
        let mut living = above.filter_map(|&ancestor| self.book.living(ancestor));
        living.next().map(|leader| leader.ident.comm)
    }

    fn unnamed(&self, books: &Books) -> Option<Finding> {
        let source = self.window.end.provenance.source;
        let least = least_unnamed(source);
        let (unnamed_ns, used_ns) = (books.unnamed_ns, self.used_ns);
        let what = FindingKind::Unnamed { unnamed_ns, used_ns, source };
        // Without books, the past time of a thread that is read for the first time is unnamed.
        let first_read = !source.keeps_books()
            && self.window.tasks.iter().any(|task| task.delta.get(Counter::RunNs).is_none());
        (!first_read && part(unnamed_ns, used_ns) >= least).then(|| Finding::new(what, unnamed_ns))
    }
}

/// Least unnamed time that is a finding, as a part of the CPU time used.
pub const fn least_unnamed(source: SourceKind) -> f64 {
    if source.keeps_books() {
        UNNAMED
    } else {
        UNNAMED_BY_TICKS
    }
}

impl Throttled {
    /// CPU time that the group would have used without waiting, ns.
    pub fn wanted_ns(&self) -> u64 {
        self.run_ns + self.lat_ns + self.throttle_ns
    }
}

impl Waited {
    /// CPU time that the processes would have used without waiting, ns.
    pub fn wanted_ns(&self) -> u64 {
        self.run_ns + self.lat_ns + self.throttle_ns
    }
}

impl Program {
    fn add(&mut self, delta: &Counters) {
        self.sum.add(&GroupUse::from_counters(delta, 0));
    }

    fn finding(self, comm: Comm) -> Finding {
        let GroupUse { run_ns, lat_ns, throttle_ns, .. } = self.sum;
        let processes = self.processes.len() as u64 + self.exited;
        let living = self.processes.iter().filter(|(_, &lat_ns)| lat_ns > 0);
        let worst = living.max_by_key(|(key, lat_ns)| (**lat_ns, **key)).map(|(key, _)| *key);
        let culprits = Vec::new();
        let what = Waited { comm, processes, worst, run_ns, lat_ns, throttle_ns, culprits };
        Finding::new(FindingKind::Waited(what), lat_ns)
    }
}

fn known(delta: &Counters, counter: Counter) -> u64 {
    delta.get(counter).unwrap_or(0)
}

/// The worst findings of one kind.
fn most(mut found: Vec<Finding>) -> Vec<Finding> {
    let order = |finding: &Finding| match finding.subject() {
        Subject::Group(id) => (id, Comm::default()),
        Subject::Program(comm) => (0, comm),
        Subject::Machine(_) => (0, Comm::default()),
    };
    found.sort_by_key(|finding| (Reverse(finding.about_ns), order(finding)));
    found.truncate(MOST_OF_A_KIND);
    found
}

fn stolen(books: &Books) -> Option<Finding> {
    let steal_ns = books.steal_ns?;
    let busy_ns = books.total_ns.saturating_sub(books.idle_ns).saturating_sub(books.offline_ns);
    let told = part(steal_ns, busy_ns) >= STOLEN;
    told.then(|| Finding::new(FindingKind::Stolen { steal_ns, busy_ns }, steal_ns))
}

/// Missing time in the accounting, of any size. A source that counts ticks always has some, so it
/// has no such finding.
fn missing(window: &Window, books: &Books) -> Vec<Finding> {
    let source = window.end.provenance.source;
    let residual_ns = books.residual_ns;
    let residual = (source.keeps_books() && residual_ns != 0)
        .then(|| Finding::new(FindingKind::Residual { residual_ns }, residual_ns.unsigned_abs()));
    let missed = (window.errors.inexact() > 0)
        .then(|| Finding::new(FindingKind::Missed(window.errors.only_inexact()), 0));
    residual.into_iter().chain(missed).collect()
}
