//! What a window has to say by itself: who was kept from running and by what, what went by unseen, what
//! nobody can account for. Of what is measured anyway; each finding with the figures it rests on.
//!
//! What is worth a word is in the constants here and, for people, in docs/reference/findings.md.

mod quotas;

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
use crate::owner::By;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// A finding is about at least this part of a CPU, but for what is missing in the accounting.
pub const LEAST_OF_A_CPU: f64 = 0.05;
/// Throttled for at least this part of the time that a group wanted to run.
pub const THROTTLED: f64 = 0.10;
/// Its number among the scheduling policies (include/uapi/linux/sched.h).
const SCHED_DEADLINE: u32 = 6;
/// Waiting for a CPU for at least this part of the time that a program wanted to run.
pub const WAITED: f64 = 0.50;
/// And for this part of the window.
pub const WAITED_OF_WINDOW: f64 = 0.20;
/// A short life, on average over a group of exited processes. Of a life only the part in the window is
/// known.
pub const SHORT_LIFE_NS: u64 = 10_000_000;
/// So many of a group at least: one that is old and ends as the window begins is no short life.
pub const SHORT_LIVES: u64 = 10;
/// In windows that are shorter than this, every life is short.
pub const LEAST_WINDOW_NS: u64 = 10 * SHORT_LIFE_NS;
/// This part of the CPU time used was used in short lives.
pub const SHORT_LIVED: f64 = 0.10;
/// This part of the time in which CPUs were not idle was stolen.
pub const STOLEN: f64 = 0.05;
/// This part of the CPU time used has no name, where the source keeps books.
pub const UNNAMED: f64 = 0.01;
/// The same where it does not: what exited is in it.
pub const UNNAMED_BY_TICKS: f64 = 0.10;
/// So many groups and so many programs at most, the worst ones.
pub const MOST_OF_A_KIND: usize = 3;

/// Something to say of a window.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What, with the figures it rests on.
    pub what: What,
    /// How much CPU time, or waiting for it, it is about: the worst has most.
    pub about_ns: u64,
    /// Its figures are of a source that samples.
    pub sampled: bool,
}

/// What there is to say.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A control group's tasks were held back by a quota.
    Throttled(Throttled),
    /// Programs of one name waited for a CPU most of the time they wanted one.
    Waited(Waited),
    /// Much was used by processes that lived for a moment only.
    ShortLived(ShortLived),
    /// The hypervisor ran others.
    Stolen {
        /// How long it did so, over CPUs.
        steal_ns: u64,
        /// In which CPUs were not idle, steal included.
        busy_ns: u64,
    },
    /// CPU time that is nobody's.
    Unnamed {
        /// How much.
        unnamed_ns: u64,
        /// Of so much.
        used_ns: u64,
        /// Who does not know.
        source: SourceKind,
    },
    /// The books do not close.
    Residual {
        /// By so much.
        residual_ns: i64,
    },
    /// Events were missed that could not be set right.
    Missed(ErrorCounts),
}

/// A group that was held back.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub struct Throttled {
    pub cgroup_id: u64,
    /// Its path, as far as somebody read it; raw bytes.
    pub path: Option<Vec<u8>>,
    /// CPUs that its own quota allows, as far as somebody looked.
    pub allowed_cpus: Option<f64>,
    /// So many groups below it have tasks that its quota held back, where that is known.
    pub groups_below: usize,
    /// The process of it that was throttled longest, if one of them lives.
    pub worst: Option<TaskKey>,
    /// Its name, or that of what exited and was throttled longest.
    pub comm: Comm,
    pub run_ns: u64,
    pub lat_ns: u64,
    pub throttle_ns: u64,
}

/// Programs of one name that waited.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub struct Waited {
    pub comm: Comm,
    /// How many processes ran or waited, those that exited included.
    pub processes: u64,
    /// Of those that live the one that waited longest.
    pub worst: Option<TaskKey>,
    pub run_ns: u64,
    pub lat_ns: u64,
    pub throttle_ns: u64,
}

/// Short lives.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub struct ShortLived {
    /// CPU time of all of them.
    pub all_ns: u64,
    /// CPU time of everybody.
    pub used_ns: u64,
    /// The name that used most, and the living ancestor's, if one lives.
    pub comm: Comm,
    pub under: Option<Comm>,
    pub processes: u64,
    pub run_ns: u64,
    /// How long all of them lived in the window, on average.
    pub mean_life_ns: u64,
}

/// Where more can be seen of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leads {
    /// The page of control groups.
    Groups,
    /// A process's page.
    Process(TaskKey),
    /// Totals.
    Totals(By),
    /// What is told of the window's quality.
    Quality,
}

/// What a finding is about: by that it is followed from one window to the next.
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
    /// What it is about.
    pub fn subject(&self) -> Subject {
        match &self.what {
            What::Throttled(group) => Subject::Group(group.cgroup_id),
            What::Waited(program) => Subject::Program(program.comm),
            _ => Subject::Machine(self.id()),
        }
    }

    fn new(what: What, about_ns: u64) -> Finding {
        Finding { what, about_ns, sampled: false }
    }

    /// Its name in the documentation.
    pub const fn id(&self) -> &'static str {
        match self.what {
            What::Throttled(_) => "throttled",
            What::Waited(_) => "waiting",
            What::ShortLived(_) => "short-lived",
            What::Stolen { .. } => "steal",
            What::Unnamed { .. } => "unnamed",
            What::Residual { .. } => "residual",
            What::Missed(_) => "missed",
        }
    }

    /// Where more can be seen, if anywhere.
    pub fn leads(&self) -> Option<Leads> {
        match &self.what {
            What::Throttled(_) => Some(Leads::Groups),
            What::Waited(Waited { worst: Some(key), .. }) => Some(Leads::Process(*key)),
            What::Waited(_) | What::ShortLived(_) => Some(Leads::Totals(By::Command)),
            What::Stolen { .. } => None,
            What::Unnamed { .. } | What::Residual { .. } | What::Missed(_) => Some(Leads::Quality),
        }
    }
}

/// All findings of a window, what was missed before all others, of those the worst first; `book` is the one that yielded it, not advanced since. A
/// machine's whole life is no window.
pub fn of(window: &Window, book: &Book) -> Vec<Finding> {
    if window.is_since_boot() {
        return Vec::new();
    }
    let books = Books::of(window);
    let looking = Looking {
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
    // Whether the figures of all others can be relied on comes first.
    let is_missed = |finding: &Finding| matches!(finding.what, What::Missed(_));
    found.sort_by_key(|finding| (!is_missed(finding), Reverse(finding.about_ns)));
    found
}

fn part(of_ns: u64, all_ns: u64) -> f64 {
    of_ns as f64 / all_ns.max(1) as f64
}

struct Looking<'a> {
    window: &'a Window,
    book: &'a Book,
    used_ns: u64,
    /// Those to whom nothing happened, because they waited all the time.
    still: Vec<TaskDelta>,
}

/// What a program did, summed over its processes.
#[derive(Default)]
struct Program {
    sum: GroupUse,
    /// Those that live, and how long each waited.
    processes: FxHashMap<TaskKey, u64>,
    exited: u64,
}

/// How long each process of a group was throttled, and each name of what exited.
#[derive(Default)]
struct Losers {
    processes: FxHashMap<(TaskKey, Comm), u64>,
    exited: FxHashMap<Comm, u64>,
    /// What those of SCHED_DEADLINE waited for: their own budget, of which the group's quota knows nothing.
    own_ns: u64,
}

impl Losers {
    /// Who lost most; of two that lost the same the one that lives.
    fn worst(&self) -> (Option<TaskKey>, Comm) {
        let living = self.processes.iter().map(|(&(key, comm), &ns)| (ns, Some(key), comm));
        let exited = self.exited.iter().map(|(&comm, &ns)| (ns, None, comm));
        let worst = living.chain(exited).max();
        worst.map_or((None, Comm::default()), |(_, key, comm)| (key, comm))
    }
}

impl Looking<'_> {
    fn tasks(&self) -> impl Iterator<Item = &TaskDelta> {
        self.window.tasks.iter().chain(&self.still)
    }

    /// The groups that lost most.
    fn throttled(&self) -> Vec<Finding> {
        let told = |group: &Throttled| part(group.throttle_ns, group.wanted_ns()) >= THROTTLED;
        let groups = self.held_back().1.into_iter().filter(told);
        let finding = |group: Throttled| {
            let about_ns = group.throttle_ns;
            Finding::new(What::Throttled(group), about_ns)
        };
        most(groups.map(finding).collect())
    }

    /// What groups did, and those of which somebody was throttled, who lost most first.
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
        // What a quota of its own took from a task is none of its group's.
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

    /// The programs that waited most.
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
        most(waited.map(|(comm, program)| program.finding(comm)).collect())
    }

    /// Groups of processes that lived for a moment on average; the name that used most of it.
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
        told.then(|| Finding::new(What::ShortLived(what), all_ns))
    }

    /// The nearest ancestor that lives.
    fn under(&self, exit: &ExitSample) -> Option<Comm> {
        let above = exit.ancestors.iter().filter(|ancestor| ancestor.tgid != 0);
        let mut living = above.filter_map(|&ancestor| self.book.living(ancestor));
        living.next().map(|leader| leader.ident.comm)
    }

    fn unnamed(&self, books: &Books) -> Option<Finding> {
        let source = self.window.end.provenance.source;
        let least = least_unnamed(source);
        let (unnamed_ns, used_ns) = (books.unnamed_ns, self.used_ns);
        let what = What::Unnamed { unnamed_ns, used_ns, source };
        // Who lived all along and is read for the first time, as its threads are, has that time.
        let first_read = !source.keeps_books()
            && self.window.tasks.iter().any(|task| task.delta.get(Counter::RunNs).is_none());
        (!first_read && part(unnamed_ns, used_ns) >= least).then(|| Finding::new(what, unnamed_ns))
    }
}

/// From which part of the CPU time used on it is told that it has no name.
pub const fn least_unnamed(source: SourceKind) -> f64 {
    if source.keeps_books() {
        UNNAMED
    } else {
        UNNAMED_BY_TICKS
    }
}

impl Throttled {
    /// CPU time it would have used if it had never waited, ns.
    pub fn wanted_ns(&self) -> u64 {
        self.run_ns + self.lat_ns + self.throttle_ns
    }
}

impl Waited {
    /// CPU time they would have used if they had never waited, ns.
    pub fn wanted_ns(&self) -> u64 {
        self.run_ns + self.lat_ns + self.throttle_ns
    }
}

impl Program {
    fn add(&mut self, delta: &Counters) {
        self.sum.add(&GroupUse::of(delta, 0));
    }

    fn finding(self, comm: Comm) -> Finding {
        let GroupUse { run_ns, lat_ns, throttle_ns, .. } = self.sum;
        let processes = self.processes.len() as u64 + self.exited;
        let living = self.processes.iter().filter(|(_, &lat_ns)| lat_ns > 0);
        let worst = living.max_by_key(|(key, lat_ns)| (**lat_ns, **key)).map(|(key, _)| *key);
        let what = Waited { comm, processes, worst, run_ns, lat_ns, throttle_ns };
        Finding::new(What::Waited(what), lat_ns)
    }
}

fn known(delta: &Counters, counter: Counter) -> u64 {
    delta.get(counter).unwrap_or(0)
}

/// Those that are about most.
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
    told.then(|| Finding::new(What::Stolen { steal_ns, busy_ns }, steal_ns))
}

/// What is missing in the accounting, however little. A source that counts ticks is never without.
fn missing(window: &Window, books: &Books) -> Vec<Finding> {
    let source = window.end.provenance.source;
    let residual_ns = books.residual_ns;
    let residual = (source.keeps_books() && residual_ns != 0)
        .then(|| Finding::new(What::Residual { residual_ns }, residual_ns.unsigned_abs()));
    let missed = (window.errors.inexact() > 0)
        .then(|| Finding::new(What::Missed(window.errors.only_inexact()), 0));
    residual.into_iter().chain(missed).collect()
}
