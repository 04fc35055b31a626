//! Control groups over a window: what each group used, how long its tasks waited and how long its
//! quota held them back. The kernel's own counters and the ledger's stand side by side.

pub mod limits;

use crate::ledger::book::Book;
use crate::ledger::counters::{Counter, Counters};
use crate::ledger::window::Window;
use crate::owner::{charge, Grouping, Owner};
use crate::run::CpuStat;
use rustc_hash::FxHashMap;

/// The values in a group's files at one instant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupSample {
    /// The group's path below the root: `/` or `/a/b`.
    pub name: String,
    /// The kernel's id of the group, the same as in the ledger.
    pub id: Option<u64>,
    /// Cumulative cpu.stat.
    pub stat: CpuStat,
    /// cpu.weight; on cgroup v1 cpu.shares converted to a weight.
    pub weight: Option<u64>,
    /// The quota in the format of cpu.max.
    pub max: Option<String>,
    /// Number of CPUs that the quota allows; `None`: no quota.
    pub allowed_cpus: Option<f64>,
    /// CPUs that the group may use, as a CPU list.
    pub cpus: Option<String>,
    /// Time in which at least one of its tasks waited for a CPU (cpu.pressure, `some`), cumulative
    /// ns.
    pub pressure_some_ns: Option<u64>,
    /// Time in which all of its tasks waited for a CPU (cpu.pressure, `full`), cumulative ns.
    pub pressure_full_ns: Option<u64>,
    /// Processes in the group itself, without those in groups below it.
    pub processes: Option<u64>,
}

/// What the ledger charged to the tasks of a group in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct GroupUse {
    pub run_ns: u64,
    /// Run-queue wait summed over tasks, ns.
    pub lat_ns: u64,
    /// Throttled time summed over tasks, ns.
    pub throttle_ns: u64,
    /// Processes that exited.
    pub exited: u64,
}

impl GroupUse {
    /// The use in `delta`. A counter that is missing counts as 0: the window's books do not charge
    /// it either.
    pub(crate) fn from_counters(delta: &Counters, exited: u64) -> GroupUse {
        let of = |counter| delta.get(counter).map_or(0, |ns| ns);
        GroupUse {
            run_ns: of(Counter::RunNs),
            lat_ns: of(Counter::LatNs),
            throttle_ns: of(Counter::ThrottleNs),
            exited,
        }
    }

    /// Adds the use of another group.
    pub fn add(&mut self, other: &GroupUse) {
        self.run_ns += other.run_ns;
        self.lat_ns += other.lat_ns;
        self.throttle_ns += other.throttle_ns;
        self.exited += other.exited;
    }

    /// CPU time that the group would have used without waiting, ns.
    pub fn wanted_ns(&self) -> u64 {
        self.run_ns + self.lat_ns + self.throttle_ns
    }
}

/// The use of each group by its id, from a window of the ledger. The key `None` holds the tasks
/// whose group is unknown.
pub fn all_uses(window: &Window, book: &Book) -> FxHashMap<Option<u64>, GroupUse> {
    let mut uses: FxHashMap<Option<u64>, GroupUse> = FxHashMap::default();
    charge(window, book, Grouping::Cgroup, &mut |owner, charge| {
        let Owner::Group(id) = owner else { return };
        uses.entry(id).or_default().add(&GroupUse::from_counters(charge.counters, charge.exited));
    });
    uses
}

/// Like [`all_uses`], without the tasks whose group is unknown.
pub fn uses(window: &Window, book: &Book) -> FxHashMap<u64, GroupUse> {
    all_uses(window, book).into_iter().filter_map(|(id, used)| Some((id?, used))).collect()
}

/// A group over a window. Its sums include all groups below it.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupRow {
    /// The files' values at the window's end.
    pub sample: GroupSample,
    /// Depth in the tree; 0 is the root.
    pub depth: usize,
    /// What the path names: a container, a pod or a unit.
    pub meaning: Option<String>,
    /// The kernel's counters over the window.
    pub stat: CpuStat,
    /// The ledger's counters over the window; `None` without a ledger.
    pub ledger: Option<GroupUse>,
    /// `some` pressure over the window, ns.
    pub pressure_some_ns: Option<u64>,
    /// `full` pressure over the window, ns.
    pub pressure_full_ns: Option<u64>,
    /// Processes in the group and in all groups below it.
    pub processes: Option<u64>,
}

impl GroupRow {
    /// True if a quota held its tasks back in the window, by the ledger or the kernel's count.
    pub fn was_throttled(&self) -> bool {
        self.ledger.is_some_and(|ledger| ledger.throttle_ns > 0)
            || self.stat.throttled_ns.is_some_and(|ns| ns > 0)
    }
}

/// All groups of one window.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub struct Groups {
    /// The window's start, CLOCK_MONOTONIC ns.
    pub t0_ns: u64,
    pub t1_ns: u64,
    /// CPUs of the machine, if known.
    pub cpus: Option<u32>,
    /// Why the ledger's figures are missing, if they are.
    pub no_ledger: Option<String>,
    /// The groups in tree order: each group stands before those below it, busier siblings first.
    pub rows: Vec<GroupRow>,
}

impl Groups {
    /// Length of the window, ns.
    pub fn length_ns(&self) -> u64 {
        self.t1_ns.saturating_sub(self.t0_ns)
    }
}

/// Makes the rows of a window, one for each group that exists at its end. A group that did not
/// exist at the window's beginning counts from 0.
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
            // A restarted unit has the same path, a new id and new counters.
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
        // The root also counts what ran in groups that were removed.
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

/// Sorts rows into tree order: each group before those below it, busier siblings first.
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

/// What a group's path names: a container of docker, podman or containerd, a pod of Kubernetes, or
/// a systemd unit.
pub fn meaning(name: &str) -> Option<String> {
    let last = name.rsplit('/').next().filter(|last| !last.is_empty())?;
    // A user's systemd or session may give its groups any name.
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

/// The user's unit that holds a group below a user's systemd.
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

/// ` pod UID` if the path contains a Kubernetes pod, else empty.
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
        assert_eq!(rows[0].ledger.unwrap().run_ns, 805, "the root counts removed groups");
        assert_eq!((rows[2].stat.usage_ns, rows[2].ledger.unwrap().run_ns), (Some(100), 100));
        assert_eq!((rows[2].processes, rows[2].depth), (Some(2), 1));
        assert_eq!(rows[3].stat.usage_ns, Some(60), "a new group counts from 0");
        assert_eq!(rows[4].ledger.unwrap(), GroupUse::default());
    }

    #[test]
    fn a_recreated_group_counts_from_zero() {
        let pressure = |group: GroupSample, ns| GroupSample { pressure_some_ns: Some(ns), ..group };
        let before = [pressure(sample("/unit", 7, 50), 5)];
        for usage in [20, 80] {
            let after = [pressure(sample("/unit", 8, usage), 9)];
            let rows = rows(&before, &after, None);
            assert_eq!(rows[0].stat.usage_ns, Some(usage), "without the old counters");
            assert_eq!(rows[0].pressure_some_ns, Some(9));
        }
    }

    #[test]
    fn a_path_names_its_container_pod_or_unit() {
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
