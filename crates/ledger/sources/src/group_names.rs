//! Names of control groups, delivered with snapshots. The first snapshot has the names of all
//! existing groups; later ones have the names of new groups. A group's name is read when the group
//! is first seen, and stays after the group is removed.
//!
//! If the kernel reports new groups (`on_demand/births.rs`), none is missed. Otherwise all groups
//! are listed again when a task is in an unknown group.

#[cfg(feature = "bpf")]
use crate::on_demand::births::Births;
use exactop_cgroups::containers::{is_called_by_its_id, name, Machine};
use exactop_cgroups::{cpu_controller_is_v1, Hierarchy};
use exactop_model::ledger::named::{GroupName, Named};
use exactop_model::Snapshot;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Most group ids kept; beyond this, all existing groups are delivered again.
const MOST: usize = 65_536;
/// Number of attempts to read a container's files that were missing.
const TRIES: u32 = 3;

#[derive(Default)]
pub(crate) struct GroupNames {
    open: Option<Open>,
    /// The source delivers names itself.
    are_told: bool,
    /// Names by path, for processes whose group has no id.
    by_path: FxHashMap<Vec<u8>, Arc<Named>>,
}

/// State since the first request for names.
struct Open {
    hierarchy: Option<Hierarchy>,
    #[cfg(feature = "bpf")]
    births: Option<Births<GroupName>>,
    #[cfg(feature = "bpf")]
    lost: u64,
    known: ReportedGroups,
    in_vain: FxHashSet<u64>,
    /// Names to deliver with the next snapshot.
    found: Vec<Arc<GroupName>>,
    /// Groups whose files were missing, with the number of attempts.
    again: Vec<(u32, Arc<GroupName>)>,
}

/// Ids of groups that were delivered. When the set is full, removed groups are dropped from it.
struct ReportedGroups {
    ids: FxHashSet<u64>,
    most: usize,
}

impl Default for ReportedGroups {
    fn default() -> ReportedGroups {
        ReportedGroups { ids: FxHashSet::default(), most: MOST }
    }
}

impl ReportedGroups {
    fn contains(&self, id: &u64) -> bool {
        self.ids.contains(id)
    }

    /// Adds a group. A full set keeps only the groups that `there` returns.
    fn insert(&mut self, id: u64, there: impl FnOnce() -> Vec<u64>) {
        if self.ids.len() >= self.most {
            self.keep(there().into_iter());
        }
        self.ids.insert(id);
    }

    /// Keeps only these groups. Half of the room stays free for new groups, whatever their number.
    fn keep(&mut self, there: impl Iterator<Item = u64>) {
        let there: FxHashSet<u64> = there.collect();
        self.most = MOST.max(2 * there.len());
        self.ids.retain(|id| there.contains(id));
        self.ids.shrink_to(2 * self.ids.len());
    }
}

fn ids(hierarchy: Option<&Hierarchy>) -> Vec<(u64, Vec<u8>)> {
    hierarchy.map_or(Vec::new(), Hierarchy::ids)
}

fn look(id: u64, path: &[u8]) -> GroupName {
    GroupName { id, path: path.to_vec(), named: Arc::new(name(path, &Machine)) }
}

impl GroupNames {
    /// Requests names from the next snapshot on. New groups are recorded from now on.
    pub fn want(&mut self) {
        if !self.are_told {
            self.open.get_or_insert_with(Open::new);
        }
    }

    /// Leaves names to the source, which delivers them itself.
    pub fn leave_to_source(&mut self) {
        self.are_told = true;
    }

    /// Adds names to the snapshot that were not delivered yet, if a reader requested names.
    pub fn tell(&mut self, snapshot: &mut Snapshot) {
        if let Some(open) = &mut self.open {
            open.tell(snapshot);
        }
    }

    /// Name of the group with this path.
    pub fn of_path(&mut self, path: &[u8]) -> Arc<Named> {
        if let Some(named) = self.by_path.get(path) {
            return Arc::clone(named);
        }
        if self.by_path.len() >= MOST {
            self.by_path.clear();
        }
        let named = Arc::new(name(path, &Machine));
        self.by_path.insert(path.to_vec(), Arc::clone(&named));
        named
    }
}

impl Open {
    fn new() -> Open {
        let hierarchy = Hierarchy::of_this_machine().ok();
        // If no hierarchy has the cpu controller, a task's group is its group of version 2.
        let number = match &hierarchy {
            Some(hierarchy) => hierarchy.number(),
            None => cpu_controller_is_v1().is_ok_and(|of_v1| !of_v1).then_some(0),
        };
        let mut open = Open {
            hierarchy,
            // Attach before listing, so that no group is made in between.
            #[cfg(feature = "bpf")]
            births: number.and_then(|number| Births::open(number, look).ok()),
            #[cfg(feature = "bpf")]
            lost: 0,
            known: ReportedGroups::default(),
            in_vain: FxHashSet::default(),
            found: Vec::new(),
            again: Vec::new(),
        };
        #[cfg(not(feature = "bpf"))]
        let _ = number;
        open.list();
        open
    }

    /// Reads the names of all existing groups that are unknown.
    fn list(&mut self) {
        let there = ids(self.hierarchy.as_ref());
        self.known.keep(there.iter().map(|(id, _)| *id));
        for (id, path) in there {
            if !self.known.contains(&id) {
                self.take(look(id, &path));
            }
        }
    }

    fn take(&mut self, group: GroupName) {
        let group = Arc::new(group);
        let there = || ids(self.hierarchy.as_ref()).into_iter().map(|(id, _)| id).collect();
        self.known.insert(group.id, there);
        if is_called_by_its_id(&group.named) {
            self.again.push((0, Arc::clone(&group)));
        }
        self.found.push(group);
    }

    fn tell(&mut self, snapshot: &mut Snapshot) {
        self.look_again();
        let lost = self.take_born();
        if lost || self.someone_is_elsewhere(snapshot) {
            self.list();
            self.note_in_vain(snapshot);
        }
        snapshot.groups.append(&mut self.found);
    }

    /// A runtime writes its files before it makes the group, or shortly after.
    fn look_again(&mut self) {
        for (tries, before) in std::mem::take(&mut self.again) {
            let named = name(&before.path, &Machine);
            if named != *before.named {
                self.found.push(Arc::new(GroupName {
                    id: before.id,
                    path: before.path.clone(),
                    named: Arc::new(named),
                }));
            } else if tries + 1 < TRIES {
                self.again.push((tries + 1, before));
            }
        }
    }

    /// Takes the groups made since the last call. Returns true if some were lost.
    fn take_born(&mut self) -> bool {
        #[cfg(feature = "bpf")]
        if let Some(births) = &mut self.births {
            let (born, lost) = (births.take(), births.lost());
            for group in born {
                self.take(group);
            }
            return std::mem::replace(&mut self.lost, lost) != lost;
        }
        false
    }

    fn strangers<'a>(&'a self, snapshot: &'a Snapshot) -> impl Iterator<Item = u64> + 'a {
        let tasks = snapshot.tasks.iter().filter_map(|task| task.ident.cgroup_id);
        let exited = snapshot.exited.iter().filter_map(|exit| exit.cgroup_id);
        let new = |id: &u64| !self.known.contains(id) && !self.in_vain.contains(id);
        tasks.chain(exited).filter(new)
    }

    fn someone_is_elsewhere(&self, snapshot: &Snapshot) -> bool {
        self.strangers(snapshot).next().is_some()
    }

    /// Notes groups that are in no list, so that they cause no further listing.
    fn note_in_vain(&mut self, snapshot: &Snapshot) {
        let strangers: Vec<u64> = self.strangers(snapshot).collect();
        if self.in_vain.len() >= MOST {
            self.in_vain.clear();
        }
        self.in_vain.extend(strangers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_lived_groups_take_no_more_room_than_existing_ones() {
        let mut known = ReportedGroups::default();
        let mut lists = 0;
        for id in 0..8 * MOST as u64 {
            // The first hundred groups stay, of the others the last ten.
            let there = || (0..100).chain(id.saturating_sub(10)..id).collect();
            known.insert(id, || {
                lists += 1;
                there()
            });
            assert!(known.ids.len() <= MOST && known.contains(&id), "{} at {id}", known.ids.len());
        }
        assert!((0..100).all(|id| known.contains(&id)), "existing groups are known");
        assert!((1..=8).contains(&lists), "{lists} times all were listed");
    }

    #[test]
    fn all_groups_are_known_however_many_exist() {
        let mut known = ReportedGroups::default();
        let all = || 0..3 * MOST as u64;
        known.keep(all());
        all().for_each(|id| known.insert(id, || panic!("there is room")));
        assert_eq!(known.ids.len(), 3 * MOST);
        known.keep(0..5);
        assert_eq!(known.ids.len(), 5);
    }
}
