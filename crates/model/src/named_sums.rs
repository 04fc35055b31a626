//! A window summed by whose the control groups are: containers, pods, namespaces, units; by control group,
//! by user, or by command.
//!
//! All of the tasks' time is in exactly one row, what exited included: the rows' CPU time is that of
//! tasks and exited together, to the nanosecond.

use crate::book::Book;
use crate::cgroups::{GroupUse, Groups};
use crate::counters::{Counter, Counters};
use crate::escape::{escape_str, unescape};
use crate::key::Comm;
use crate::named::{By, UNKNOWN};
use crate::provenance::Quality;
use crate::snapshot::{ExitSample, TaskSample};
use crate::window::Window;
use crate::workers::Workers;
use rustc_hash::FxHashMap;

/// A row: everything of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedSum {
    /// What it is called, escaped.
    pub name: String,
    /// The rest: those in none, or of whom it is not known.
    pub is_rest: bool,
    /// CPU time.
    pub run_ns: u64,
    /// Run-queue wait over tasks, where the source tells.
    pub lat_ns: Option<u64>,
    /// Throttled, over tasks, where the source tells.
    pub throttle_ns: Option<u64>,
    /// Processes at the window's end.
    pub processes: u64,
    /// Tasks that exited, where the source sees exits.
    pub exited: Option<u64>,
    /// What it may use, of its own control group and those above; `None` while nobody looks.
    pub may: Option<May>,
}

/// What a control group may use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct May {
    /// cpu.weight of the group itself.
    pub weight: Option<u64>,
    /// CPUs that the tightest quota on the way to it allows; `None`: no quota.
    pub cpus: Option<f64>,
    /// Periods of the group's own quota in the window, and those in which it ran out.
    pub periods: Option<u64>,
    /// See `periods`.
    pub throttled: Option<u64>,
}

impl NamedSum {
    /// CPU time it would have used if it had never waited, ns.
    pub fn wanted_ns(&self) -> Option<u64> {
        Some(self.run_ns + self.lat_ns? + self.throttle_ns?)
    }
}

/// All rows of a window.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedSums {
    /// What they are summed by.
    pub by: By,
    /// The busiest first.
    pub rows: Vec<NamedSum>,
}

/// Whose time it is, before names are given.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Whose {
    Group(Option<u64>),
    User(Option<u32>),
    Command(Comm),
    Workers(Workers),
}

#[derive(Clone, Copy, Default)]
struct Part {
    used: GroupUse,
    processes: u64,
    /// Of somebody whose CPU time is known these are not.
    lacks_lat: bool,
    lacks_throttle: bool,
}

impl Part {
    fn of(delta: &Counters, exited: u64) -> Part {
        let lacks = |counter| delta.get(Counter::RunNs).is_some() && delta.get(counter).is_none();
        Part {
            used: GroupUse::of(delta, exited),
            processes: 0,
            lacks_lat: lacks(Counter::LatNs),
            lacks_throttle: lacks(Counter::ThrottleNs),
        }
    }

    fn add(&mut self, other: &Part) {
        self.used.add(&other.used);
        self.processes += other.processes;
        self.lacks_lat |= other.lacks_lat;
        self.lacks_throttle |= other.lacks_throttle;
    }
}

struct Summing<'a> {
    window: &'a Window,
    book: &'a Book,
    by: By,
    parts: FxHashMap<Whose, Part>,
}

/// The command of a process; of the kernel's workers their pool.
fn command(process: &TaskSample) -> Whose {
    Workers::of_task(process).map_or(Whose::Command(process.ident.comm), Whose::Workers)
}

impl NamedSums {
    /// Sums a window; `book` is the one that yielded it, not advanced since. `user` gives users names.
    pub fn of(window: &Window, book: &Book, by: By) -> NamedSums {
        let mut summing = Summing { window, book, by, parts: FxHashMap::default() };
        summing.tasks();
        summing.exited();
        summing.moves();
        NamedSums { by, rows: summing.rows() }
    }

    /// Puts what each may use beside what it got.
    pub fn beside(&mut self, groups: &Groups, book: &Book) {
        let mut mays: FxHashMap<String, (usize, May)> = FxHashMap::default();
        // CPUs that the groups on the way down to this one allow, by depth.
        let mut above: Vec<Option<f64>> = Vec::new();
        for row in &groups.rows {
            above.truncate(row.depth);
            let own = row.sample.allowed_cpus;
            let over = above.last().copied().flatten();
            let cpus = match (own, over) {
                (Some(own), Some(over)) => Some(own.min(over)),
                (own, over) => own.or(over),
            };
            above.resize(row.depth, over);
            above.push(cpus);
            let named = row.sample.id.and_then(|id| book.group(id));
            let Some(name) = named.and_then(|group| group.under(self.by)) else { continue };
            let may = May {
                weight: row.sample.weight,
                cpus,
                periods: row.stat.nr_periods,
                throttled: row.stat.nr_throttled,
            };
            // The group that was made for it is above those that were made in it.
            let shallowest = mays.entry(name).or_insert((row.depth, may.clone()));
            if row.depth < shallowest.0 {
                *shallowest = (row.depth, may);
            }
        }
        for row in self.rows.iter_mut().filter(|row| !row.is_rest) {
            row.may = mays.get(&row.name).map(|(_, may)| may.clone());
        }
    }

    /// Users are numbers here: gives them the names that `of` knows.
    pub fn name_users(&mut self, mut of: impl FnMut(u32) -> Option<String>) {
        if self.by != By::User {
            return;
        }
        for row in self.rows.iter_mut().filter(|row| !row.is_rest) {
            let uid = unescape(&row.name).and_then(|uid| String::from_utf8(uid).ok()?.parse().ok());
            if let Some(name) = uid.and_then(&mut of) {
                row.name = escape_str(&name);
            }
        }
    }
}

impl Summing<'_> {
    /// Whose a task's time is.
    fn whose(&self, task: &TaskSample) -> Whose {
        match self.by {
            By::User => Whose::User(Some(task.ident.uid)),
            By::Command => command(self.book.leader(task)),
            _ => Whose::Group(task.ident.cgroup_id),
        }
    }

    fn tasks(&mut self) {
        let (window, book) = (self.window, self.book);
        for leader in book.processes().filter_map(|(_, process)| book.task(process.leader?)) {
            self.parts.entry(self.whose(leader)).or_default().processes += 1;
        }
        for task in window.tasks.iter().chain(&book.waited_throughout(window)) {
            self.add(self.whose(&task.sample), &Part::of(&task.delta, 0));
        }
    }

    fn exited(&mut self) {
        for exit in &self.window.exited {
            self.add(self.whose_was(&exit.sample), &Part::of(&exit.delta, exit.tasks));
        }
    }

    /// Whose the time of what exited was. Threads of a process that lives are its own.
    fn whose_was(&self, exit: &ExitSample) -> Whose {
        match (self.by, self.book.living(exit.of)) {
            (By::User, Some(process)) => Whose::User(Some(process.ident.uid)),
            (By::User, None) => Whose::User(exit.uid),
            (By::Command, Some(process)) => command(process),
            (By::Command, None) => {
                let workers = Workers::of_exited(exit, self.book);
                workers.map_or(Whose::Command(exit.comm), Whose::Workers)
            }
            _ => Whose::Group(exit.cgroup_id),
        }
    }

    fn add(&mut self, whose: Whose, part: &Part) {
        self.parts.entry(whose).or_default().add(part);
    }

    /// What tasks had used when they came into another group is that of the one they left. All is given
    /// before any is taken, and no more is taken than there is: sums stay what they are.
    fn moves(&mut self) {
        if !self.by.is_of_group() {
            return;
        }
        let mut taken: FxHashMap<Whose, GroupUse> = FxHashMap::default();
        for moved in &self.window.moves {
            let used = GroupUse {
                run_ns: moved.run_ns,
                lat_ns: moved.lat_ns,
                throttle_ns: moved.throttle_ns,
                exited: 0,
            };
            self.add(Whose::Group(Some(moved.from)), &Part { used, ..Part::default() });
            taken.entry(Whose::Group(Some(moved.to))).or_default().add(&used);
        }
        let mut short_ns = 0;
        for (whose, used) in taken {
            let into = &mut self.parts.entry(whose).or_default().used;
            let run_ns = used.run_ns.min(into.run_ns);
            short_ns += used.run_ns - run_ns;
            into.run_ns -= run_ns;
            into.lat_ns = into.lat_ns.saturating_sub(used.lat_ns);
            into.throttle_ns = into.throttle_ns.saturating_sub(used.throttle_ns);
        }
        // Charged nowhere where the task came to, so nowhere where it came from either.
        for moved in &self.window.moves {
            let from = &mut self.parts.entry(Whose::Group(Some(moved.from))).or_default().used;
            let back = short_ns.min(moved.run_ns).min(from.run_ns);
            from.run_ns -= back;
            short_ns -= back;
        }
    }

    /// The name of a row, and whether it is the rest.
    fn name(&self, whose: Whose) -> (String, bool) {
        let named = |name: Option<String>| match name {
            Some(name) => (name, false),
            None => (self.by.none().into(), true),
        };
        match whose {
            Whose::User(uid) => named(uid.map(|uid| uid.to_string())),
            Whose::Command(comm) => named(Some(comm.to_string())),
            Whose::Workers(workers) => named(Some(workers.name().into())),
            Whose::Group(id) => match id.and_then(|id| self.book.group(id)) {
                Some(group) => named(group.under(self.by)),
                None => (UNKNOWN.into(), true),
            },
        }
    }

    fn rows(self) -> Vec<NamedSum> {
        let provenance = &self.window.end.provenance;
        let told = |counter| provenance.of(counter) != Quality::Missing;
        let (lat, throttle) = (told(Counter::LatNs), told(Counter::ThrottleNs));
        let sees_exits = provenance.source.sees_exits();
        let mut sums: FxHashMap<(String, bool), Part> = FxHashMap::default();
        for (&whose, part) in &self.parts {
            sums.entry(self.name(whose)).or_default().add(part);
        }
        let row = |((name, is_rest), part): ((String, bool), Part)| NamedSum {
            name,
            is_rest,
            run_ns: part.used.run_ns,
            lat_ns: (lat && !part.lacks_lat).then_some(part.used.lat_ns),
            throttle_ns: (throttle && !part.lacks_throttle).then_some(part.used.throttle_ns),
            processes: part.processes,
            exited: sees_exits.then_some(part.used.exited),
            may: None,
        };
        let mut rows: Vec<NamedSum> = sums.into_iter().map(row).collect();
        rows.sort_by(|a, b| {
            let key = |row: &NamedSum| (std::cmp::Reverse(row.run_ns), row.is_rest);
            key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
        });
        rows
    }
}
