//! A window summed by [`By`]: command, user, control group, unit, container, pod, namespace or process.
//!
//! All of the tasks' time is in exactly one row, what exited included: the rows' CPU time is that of
//! tasks and exited together, to the nanosecond.

use crate::cgroups::{GroupUse, Groups};
use crate::ledger::book::Book;
use crate::ledger::counters::{Counter, Counters};
use crate::ledger::provenance::Quality;
use crate::ledger::window::Window;
use crate::owner::{charge, By, Owner};
use crate::text::escape::{escape_str, unescape};
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
    /// Processes that exited, where the source sees exits.
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

impl NamedSums {
    /// Sums a window; `book` is the one that yielded it, not advanced since. [`NamedSums::name_users`] gives users
    /// names.
    pub fn of(window: &Window, book: &Book, by: By) -> NamedSums {
        let mut parts: FxHashMap<Owner, Part> = FxHashMap::default();
        for leader in book.processes().filter_map(|(_, process)| book.task(process.leader?)) {
            parts.entry(Owner::of_task(by, leader, book)).or_default().processes += 1;
        }
        charge(window, book, by, &mut |owner, charge| {
            parts.entry(owner).or_default().add(&Part::of(charge.counters, charge.exited));
        });
        NamedSums { by, rows: rows(window, book, by, parts) }
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

/// Parts of one name are one row.
fn rows(window: &Window, book: &Book, by: By, parts: FxHashMap<Owner, Part>) -> Vec<NamedSum> {
    let provenance = &window.end.provenance;
    let told = |counter| provenance.of(counter) != Quality::Missing;
    let (lat, throttle) = (told(Counter::LatNs), told(Counter::ThrottleNs));
    let sees_exits = provenance.source.sees_exits();
    let mut sums: FxHashMap<(String, bool), Part> = FxHashMap::default();
    for (owner, part) in &parts {
        sums.entry(owner.name(by, book)).or_default().add(part);
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
