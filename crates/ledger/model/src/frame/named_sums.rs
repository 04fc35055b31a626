//! Totals of a window by a key ([`Grouping`]): command, user, control group, unit, container, pod,
//! namespace or process.
//!
//! Each nanosecond of task time is in exactly one row, exited tasks included. So the rows' CPU time
//! is that of tasks and exited groups together, to the nanosecond.

use crate::blame::rows::{Blamed, CulpritKind, VictimRow};
use crate::cgroups::{GroupUse, Groups};
use crate::ledger::book::Book;
use crate::ledger::counters::{Counter, Counters};
use crate::ledger::provenance::Quality;
use crate::ledger::window::Window;
use crate::owner::{charge, Grouping, Owner};
use crate::text::escape::{escape_str, unescape};
use rustc_hash::FxHashMap;

/// A row of totals: everything under one name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedSum {
    /// Name, escaped.
    pub name: String,
    /// True for the row of the rest: tasks without such a name, and tasks whose name is unknown.
    pub is_rest: bool,
    /// CPU time, ns.
    pub run_ns: u64,
    /// Run-queue wait summed over tasks, ns, if the source measures it.
    pub lat_ns: Option<u64>,
    /// Throttled time summed over tasks, ns, if the source measures it.
    pub throttle_ns: Option<u64>,
    /// Processes alive at the window's end.
    pub processes: u64,
    /// Processes that exited, if the source sees exits.
    pub exited: Option<u64>,
    /// Limits of its control group and of the groups above; `None` until a view asks for groups.
    pub may: Option<May>,
    /// Who had the CPU while its tasks waited; `None`: it did not wait, or no blame book was kept.
    pub kept_off: Option<VictimRow>,
}

/// Limits of a control group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct May {
    /// cpu.weight of the group itself.
    pub weight: Option<u64>,
    /// CPUs that the tightest quota of the group and the groups above it allows; `None`: no quota.
    pub cpus: Option<f64>,
    /// Periods of the group's own quota in the window.
    pub periods: Option<u64>,
    /// Periods in which the group's own quota ran out.
    pub throttled: Option<u64>,
}

impl NamedSum {
    /// CPU time that the tasks would have used without waiting, ns.
    pub fn wanted_ns(&self) -> Option<u64> {
        Some(self.run_ns + self.lat_ns? + self.throttle_ns?)
    }
}

/// All totals of a window.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedSums {
    /// The key.
    pub by: Grouping,
    /// Rows, the busiest first.
    pub rows: Vec<NamedSum>,
}

#[derive(Clone, Copy, Default)]
struct Part {
    used: GroupUse,
    processes: u64,
    /// True if a task in this part has a known CPU time and an unknown wait.
    lacks_lat: bool,
    lacks_throttle: bool,
}

impl Part {
    fn from_counters(delta: &Counters, exited: u64) -> Part {
        Part {
            used: GroupUse::from_counters(delta, exited),
            processes: 0,
            lacks_lat: delta.lacks(Counter::LatNs),
            lacks_throttle: delta.lacks(Counter::ThrottleNs),
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
    /// Sums a window. `book` yielded the window and has not advanced since.
    /// [`NamedSums::name_users`] replaces user numbers by names.
    pub fn from_window(window: &Window, book: &Book, by: Grouping) -> NamedSums {
        let mut parts: FxHashMap<Owner, Part> = FxHashMap::default();
        for leader in book.processes().filter_map(|(_, process)| book.task(process.leader?)) {
            parts.entry(Owner::of_task(by, leader, book)).or_default().processes += 1;
        }
        charge(window, book, by, &mut |owner, charge| {
            parts
                .entry(owner)
                .or_default()
                .add(&Part::from_counters(charge.counters, charge.exited));
        });
        let mut rows = rows(window, book, by, parts);
        if let Some(blame) = &window.blame {
            let time = (window.t0_ns, window.t1_ns);
            let blamed = Blamed::new(blame, time, by, book, &mut |_| None);
            let mut victims: FxHashMap<String, VictimRow> =
                blamed.rows.into_iter().map(|row| (row.victim.clone(), row)).collect();
            rows.iter_mut().for_each(|row| row.kept_off = victims.remove(&row.name));
        }
        NamedSums { by, rows }
    }

    /// Adds the limits of each row's control group.
    pub fn beside(&mut self, groups: &Groups, book: &Book) {
        let mut mays: FxHashMap<String, (usize, May)> = FxHashMap::default();
        // CPUs that each group on the path down to this one allows, by depth.
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
            // A container's own group is above the groups that were made inside the container.
            let shallowest = mays.entry(name).or_insert((row.depth, may.clone()));
            if row.depth < shallowest.0 {
                *shallowest = (row.depth, may);
            }
        }
        for row in self.rows.iter_mut().filter(|row| !row.is_rest) {
            row.may = mays.get(&row.name).map(|(_, may)| may.clone());
        }
    }

    /// Replaces user numbers by the names that `of` knows.
    pub fn name_users(&mut self, mut of: impl FnMut(u32) -> Option<String>) {
        if self.by != Grouping::User {
            return;
        }
        let mut name = |text: &mut String| {
            let uid = unescape(text).and_then(|uid| String::from_utf8(uid).ok()?.parse().ok());
            if let Some(name) = uid.and_then(&mut of) {
                *text = escape_str(&name);
            }
        };
        for row in &mut self.rows {
            let culprits = row.kept_off.iter_mut().flat_map(|victim| &mut victim.culprits);
            culprits.filter(|c| c.kind == CulpritKind::Group).for_each(|c| name(&mut c.culprit));
            if !row.is_rest {
                name(&mut row.name);
            }
        }
    }
}

/// Merges the parts of one name into one row.
fn rows(
    window: &Window,
    book: &Book,
    by: Grouping,
    parts: FxHashMap<Owner, Part>,
) -> Vec<NamedSum> {
    let provenance = &window.end.provenance;
    let told = |counter| provenance.quality(counter) != Quality::Missing;
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
        kept_off: None,
    };
    let mut rows: Vec<NamedSum> = sums.into_iter().map(row).collect();
    rows.sort_by(|a, b| {
        let key = |row: &NamedSum| (std::cmp::Reverse(row.run_ns), row.is_rest);
        key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
    });
    rows
}
