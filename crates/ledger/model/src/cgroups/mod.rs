//! Control groups over a window: what each used, wanted and was kept from, by the kernel's own count
//! and by the ledger's.

pub mod limits;

use crate::ledger::book::Book;
use crate::ledger::counters::{Counter, Counters};
use crate::ledger::window::Window;
use crate::owner::{charge, By, Owner};
use crate::run::CpuStat;
use rustc_hash::FxHashMap;

/// What a group's files say at one instant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupSample {
    /// Its name below the root: `/` or `/a/b`.
    pub name: String,
    /// The kernel's id, the same as the ledger's.
    pub id: Option<u64>,
    /// Cumulative use.
    pub stat: CpuStat,
    /// cpu.weight, or v1's shares in its terms.
    pub weight: Option<u64>,
    /// The quota as cpu.max has it.
    pub max: Option<String>,
    /// CPUs the quota allows; `None`: no quota.
    pub allowed_cpus: Option<f64>,
    /// CPUs it may use, as a list.
    pub cpus: Option<String>,
    /// Time in which some of its tasks waited for a CPU (cpu.pressure), cumulative ns.
    pub pressure_some_ns: Option<u64>,
    /// Time in which all of them did.
    pub pressure_full_ns: Option<u64>,
    /// Processes in it, not below it.
    pub processes: Option<u64>,
}

/// What the ledger charged to tasks of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct GroupUse {
    pub run_ns: u64,
    /// Run-queue wait, ns.
    pub lat_ns: u64,
    /// Throttled, ns, over tasks.
    pub throttle_ns: u64,
    /// Processes that exited.
    pub exited: u64,
}

impl GroupUse {
    /// Of what somebody did; what is not known of it is not charged in the window's books either.
    pub(crate) fn of(delta: &Counters, exited: u64) -> GroupUse {
        let of = |counter| delta.get(counter).map_or(0, |ns| ns);
        GroupUse {
            run_ns: of(Counter::RunNs),
            lat_ns: of(Counter::LatNs),
            throttle_ns: of(Counter::ThrottleNs),
            exited,
        }
    }

    pub(crate) fn add(&mut self, other: &GroupUse) {
        self.run_ns += other.run_ns;
        self.lat_ns += other.lat_ns;
        self.throttle_ns += other.throttle_ns;
        self.exited += other.exited;
    }

    /// CPU time it would have used if it had never waited, ns.
    pub fn wanted_ns(&self) -> u64 {
        self.run_ns + self.lat_ns + self.throttle_ns
    }
}

/// The uses of all groups by id, from a window of the ledger. `None`: of tasks whose group is not known.
pub fn all_uses(window: &Window, book: &Book) -> FxHashMap<Option<u64>, GroupUse> {
    let mut uses: FxHashMap<Option<u64>, GroupUse> = FxHashMap::default();
    charge(window, book, By::Cgroup, &mut |owner, charge| {
        let Owner::Group(id) = owner else { return };
        uses.entry(id).or_default().add(&GroupUse::of(charge.counters, charge.exited));
    });
    uses
}

/// The same of the groups that are known.
pub fn uses(window: &Window, book: &Book) -> FxHashMap<u64, GroupUse> {
    all_uses(window, book).into_iter().filter_map(|(id, used)| Some((id?, used))).collect()
}

/// A group over a window. Sums include all groups below.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupRow {
    /// As at the window's end.
    pub sample: GroupSample,
    /// How deep: 0 for the root.
    pub depth: usize,
    /// What the path says it is: a container, a pod, a unit.
    pub meaning: Option<String>,
    /// The kernel's count over the window.
    pub stat: CpuStat,
    /// The ledger's; `None` without a ledger.
    pub ledger: Option<GroupUse>,
    /// Pressure over the window, ns.
    pub pressure_some_ns: Option<u64>,
    /// Pressure over the window, ns.
    pub pressure_full_ns: Option<u64>,
    /// Processes, those below included.
    pub processes: Option<u64>,
}

/// A window of all groups.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub struct Groups {
    /// CLOCK_MONOTONIC at its beginning, ns.
    pub t0_ns: u64,
    pub t1_ns: u64,
    /// CPUs of the machine, if they are known.
    pub cpus: Option<u32>,
    /// Why there are no figures of the ledger, if there are none.
    pub no_ledger: Option<String>,
    /// A tree in order: each group before those below it, busier ones first.
    pub rows: Vec<GroupRow>,
}

impl Groups {
    /// Length of the window, ns.
    pub fn length_ns(&self) -> u64 {
        self.t1_ns.saturating_sub(self.t0_ns)
    }
}

/// The rows of a window: groups that are there at its end. Figures of a group that was not there at
/// its beginning are as if it had had none.
pub fn rows(
    before: &[GroupSample],
    after: &[GroupSample],
    uses: Option<&FxHashMap<u64, GroupUse>>,
) -> Vec<GroupRow> {
    let then: FxHashMap<&str, &GroupSample> = before.iter().map(|g| (g.name.as_str(), g)).collect();
    let nothing = GroupSample {
        stat: CpuStat {
            usage_ns: Some(0),
            user_ns: Some(0),
            system_ns: Some(0),
            nr_periods: Some(0),
            nr_throttled: Some(0),
            throttled_ns: Some(0),
        },
        pressure_some_ns: Some(0),
        pressure_full_ns: Some(0),
        ..GroupSample::default()
    };
    let minus = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
    let mut rows: Vec<GroupRow> = after
        .iter()
        .map(|sample| {
            // A unit that was started again has its name, and counters of its own.
            let then = then.get(sample.name.as_str()).filter(|then| then.id == sample.id);
            let then = then.copied().unwrap_or(&nothing);
            GroupRow {
                depth: depth(&sample.name),
                meaning: meaning(&sample.name),
                stat: sample.stat.since(&then.stat),
                ledger: uses.map(|_| below(&sample.name, after, uses)),
                pressure_some_ns: minus(sample.pressure_some_ns, then.pressure_some_ns),
                pressure_full_ns: minus(sample.pressure_full_ns, then.pressure_full_ns),
                processes: after
                    .iter()
                    .filter(|other| is_below(&other.name, &sample.name))
                    .map(|other| other.processes)
                    .sum(),
                sample: sample.clone(),
            }
        })
        .collect();
    in_tree_order(&mut rows);
    rows
}

fn depth(name: &str) -> usize {
    name.split('/').filter(|part| !part.is_empty()).count()
}

fn is_below(name: &str, group: &str) -> bool {
    let rest = if group == "/" { Some(name) } else { name.strip_prefix(group) };
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn below(name: &str, groups: &[GroupSample], uses: Option<&FxHashMap<u64, GroupUse>>) -> GroupUse {
    let mut sum = GroupUse::default();
    let Some(uses) = uses else { return sum };
    if name == "/" {
        // Also what ran in groups that are gone.
        uses.values().for_each(|of| sum.add(of));
        return sum;
    }
    for group in groups.iter().filter(|g| is_below(&g.name, name)) {
        if let Some(of) = group.id.and_then(|id| uses.get(&id)) {
            sum.add(of);
        }
    }
    sum
}

/// Each group before those below it; among those of one group the busiest first.
fn in_tree_order(rows: &mut [GroupRow]) {
    let busy = |row: &GroupRow| row.ledger.map(|l| l.run_ns).or(row.stat.usage_ns).unwrap_or(0);
    let usage: FxHashMap<String, u64> =
        rows.iter().map(|row| (row.sample.name.clone(), busy(row))).collect();
    let key = |name: &str| {
        let mut path = String::new();
        let mut keys = Vec::new();
        for part in name.split('/').filter(|part| !part.is_empty()) {
            path = format!("{path}/{part}");
            keys.push((
                std::cmp::Reverse(usage.get(&path).copied().unwrap_or(0)),
                part.to_string(),
            ));
        }
        keys
    };
    rows.sort_by_cached_key(|row| key(&row.sample.name));
}

/// What a path says: containers of docker, podman and containerd, pods of kubernetes, units of
/// systemd.
pub fn meaning(name: &str) -> Option<String> {
    let last = name.rsplit('/').next().filter(|last| !last.is_empty())?;
    // What a user's systemd or session made may be called after anything.
    if let Some(theirs) = of_user(name) {
        return theirs;
    }
    let bare = last.strip_suffix(".scope").unwrap_or(last);
    for (prefix, runtime) in [
        ("docker-", "docker"),
        ("libpod-", "podman"),
        ("cri-containerd-", "containerd"),
        ("crio-", "cri-o"),
    ] {
        if let Some(id) = bare.strip_prefix(prefix).filter(|id| is_id(id)) {
            return Some(format!("{runtime} {}{}", &id[..12], pod(name)));
        }
    }
    if is_id(last) {
        let runtime = match name {
            _ if name.contains("/docker/") => "docker",
            _ if name.contains("/libpod_parent/") => "podman",
            _ if name.contains("kubepods") => "containerd",
            _ => "container",
        };
        return Some(format!("{runtime} {}{}", &last[..12], pod(name)));
    }
    if bare.starts_with("pod") || last.contains("-pod") {
        return Some(pod(name).trim_start().to_string()).filter(|pod| !pod.is_empty());
    }
    [".service", ".scope", ".slice", ".socket", ".mount"]
        .iter()
        .any(|unit| last.ends_with(unit))
        .then(|| format!("unit {last}"))
}

/// Of a group below a user's units, the user's unit that it is in.
fn of_user(name: &str) -> Option<Option<String>> {
    let mut parts = name.split('/');
    let theirs = parts.find(|part| {
        (part.starts_with("user@") && part.ends_with(".service")) || *part == "user.slice"
    })?;
    let is_unit = |part: &&str| [".service", ".scope"].iter().any(|unit| part.ends_with(unit));
    let units: Vec<&str> = std::iter::once(theirs).chain(parts).filter(is_unit).take(2).collect();
    Some(match (units.is_empty(), name.rsplit('/').next()) {
        (false, _) => Some(format!("unit {}", units.join("/"))),
        (true, last) => {
            last.filter(|last| last.ends_with(".slice")).map(|last| format!("unit {last}"))
        }
    })
}

fn is_id(text: &str) -> bool {
    text.len() >= 32 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// ` pod UID` if the path goes through one of kubernetes.
fn pod(name: &str) -> String {
    if !name.contains("kubepods") {
        return String::new();
    }
    let part = name.split('/').find_map(|part| {
        let part = part.strip_suffix(".slice").unwrap_or(part);
        part.strip_prefix("pod").or_else(|| part.split_once("-pod").map(|(_, uid)| uid))
    });
    part.map_or(String::new(), |uid| format!(" pod {}", uid.replace('_', "-")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(name: &str, id: u64, usage_ns: u64) -> GroupSample {
        let stat = CpuStat { usage_ns: Some(usage_ns), ..CpuStat::default() };
        GroupSample {
            name: name.into(),
            id: Some(id),
            stat,
            processes: Some(1),
            ..GroupSample::default()
        }
    }

    #[test]
    fn a_tree_is_in_order_and_sums_what_is_below() {
        let before = [sample("/", 1, 100), sample("/a", 2, 40), sample("/b", 4, 10)];
        let after = [
            sample("/", 1, 1000),
            sample("/a", 2, 140),
            sample("/a/c", 3, 60),
            sample("/b", 4, 710),
            sample("/ab", 5, 0),
        ];
        let used = |run_ns| GroupUse { run_ns, exited: 1, ..GroupUse::default() };
        let uses =
            [(2, used(40)), (3, used(60)), (4, used(700)), (99, used(5))].into_iter().collect();
        let rows = rows(&before, &after, Some(&uses));
        let names: Vec<&str> = rows.iter().map(|r| r.sample.name.as_str()).collect();
        assert_eq!(names, ["/", "/b", "/a", "/a/c", "/ab"]);
        assert_eq!(rows[0].ledger.unwrap().run_ns, 805, "also what ran in groups that are gone");
        assert_eq!((rows[2].stat.usage_ns, rows[2].ledger.unwrap().run_ns), (Some(100), 100));
        assert_eq!((rows[2].processes, rows[2].depth), (Some(2), 1));
        assert_eq!(rows[3].stat.usage_ns, Some(60), "it is new");
        assert_eq!(rows[4].ledger.unwrap(), GroupUse::default());
    }

    #[test]
    fn a_group_made_again_in_the_window_counts_from_nothing() {
        let pressure = |group: GroupSample, ns| GroupSample { pressure_some_ns: Some(ns), ..group };
        let before = [pressure(sample("/unit", 7, 50), 5)];
        for usage in [20, 80] {
            let after = [pressure(sample("/unit", 8, usage), 9)];
            let rows = rows(&before, &after, None);
            assert_eq!(rows[0].stat.usage_ns, Some(usage), "not what its namesake left to it");
            assert_eq!(rows[0].pressure_some_ns, Some(9));
        }
    }

    #[test]
    fn paths_tell_what_they_are() {
        let id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        for (path, expected) in [
            ("/", None),
            ("/user", None),
            ("/docker/ID", Some("docker 0123456789ab")),
            ("/system.slice/docker-ID.scope", Some("docker 0123456789ab")),
            ("/machine.slice/libpod-ID.scope", Some("podman 0123456789ab")),
            (
                "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12_34.slice/cri-containerd-ID.scope",
                Some("containerd 0123456789ab pod 12-34"),
            ),
            ("/kubepods/besteffort/pod12-34/ID", Some("containerd 0123456789ab pod 12-34")),
            ("/kubepods/besteffort/pod12-34", Some("pod 12-34")),
            ("/system.slice/nginx.service", Some("unit nginx.service")),
            ("/system.slice", Some("unit system.slice")),
        ] {
            let path = path.replace("ID", id);
            assert_eq!(meaning(&path).as_deref(), expected, "{path}");
        }
    }
}
