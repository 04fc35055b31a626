//! Merges throttled groups below one quota into one finding on the group that has the quota. One
//! application often spreads its tasks over several groups below its quota.

use super::{
    most, part, Finding, FindingKind, FindingSearch, Throttled, LEAST_OF_A_CPU, THROTTLED,
};
use crate::cgroups::GroupUse;
use crate::ledger::book::Book;
use crate::ledger::window::Window;
use rustc_hash::FxHashMap;

/// A quota that holds groups back.
#[derive(Clone, Debug, PartialEq)]
pub struct Quota {
    /// Kernel id of the group that has the quota.
    pub cgroup_id: u64,
    /// Path of that group; raw bytes.
    pub path: Vec<u8>,
    /// Number of CPUs that the quota allows.
    pub cpus: f64,
}

/// Findings on throttled groups, one for each quota, with the use of all groups below it.
/// `quota_of` finds the quota that holds a group back; without one the group stands for itself.
pub fn by_quota(
    window: &Window,
    book: &Book,
    mut quota_of: impl FnMut(&Throttled) -> Option<Quota>,
) -> Vec<Finding> {
    let looking = FindingSearch { window, book, used_ns: 0, still: book.waited_throughout(window) };
    let (uses, groups) = looking.held_back();
    let mut told: Vec<Throttled> = Vec::new();
    let mut quotas: FxHashMap<u64, Throttled> = FxHashMap::default();
    let groups: Vec<_> = groups
        .into_iter()
        .map(|group| {
            let quota = quota_of(&group);
            (group, quota)
        })
        .collect();
    let owner = |(group, quota): &(Throttled, Option<Quota>)| {
        (group.cgroup_id, quota.as_ref().map_or(group.cgroup_id, |quota| quota.cgroup_id))
    };
    let owners: FxHashMap<u64, u64> = groups.iter().map(owner).collect();
    // Groups come the longest throttled first, so the first one gives the name.
    for (group, quota) in groups {
        let Some(quota) = quota else {
            told.push(group);
            continue;
        };
        let id = quota.cgroup_id;
        let sum = quotas.entry(id).or_insert_with(|| together(quota, &group, &owners, &uses, book));
        if id != group.cgroup_id {
            sum.groups_below += 1;
        }
    }
    told.extend(quotas.into_values());
    let least_ns = (LEAST_OF_A_CPU * window.length_ns() as f64) as u64;
    let is_worth_it = |group: &Throttled| {
        group.throttle_ns >= least_ns.max(1)
            && part(group.throttle_ns, group.wanted_ns()) >= THROTTLED
    };
    told.retain(is_worth_it);
    let finding = |group: Throttled| {
        let about_ns = group.throttle_ns;
        Finding::new(FindingKind::Throttled(group), about_ns)
    };
    most(told.into_iter().map(finding).collect())
}

/// The group with the quota, with the use of all groups that it held back and of the others below
/// its path. `worst` is the longest throttled group, which gives the process name. `owners` maps
/// each throttled group to the group with the quota.
fn together(
    quota: Quota,
    worst: &Throttled,
    owners: &FxHashMap<u64, u64>,
    uses: &FxHashMap<u64, GroupUse>,
    book: &Book,
) -> Throttled {
    let is_below = |id: u64| {
        let path = book.group(id).map(|group| group.path.as_slice());
        let rest = path.and_then(|path| path.strip_prefix(quota.path.as_slice()));
        rest.is_some_and(|rest| rest.starts_with(b"/"))
    };
    let is_in = |id: u64| match owners.get(&id) {
        Some(owner) => *owner == quota.cgroup_id,
        None => id == quota.cgroup_id || is_below(id),
    };
    let mut sum = GroupUse::default();
    uses.iter().filter(|(id, _)| is_in(**id)).for_each(|(_, used)| sum.add(used));
    Throttled {
        cgroup_id: quota.cgroup_id,
        path: Some(quota.path.clone()),
        allowed_cpus: Some(quota.cpus),
        groups_below: 0,
        run_ns: sum.run_ns,
        lat_ns: sum.lat_ns,
        throttle_ns: sum.throttle_ns,
        worst: worst.worst,
        comm: worst.comm,
    }
}
