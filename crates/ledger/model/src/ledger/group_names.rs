//! Cache of control-group names.

use crate::ledger::named::{GroupName, Named};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, LazyLock};

/// Number of recent names that the cache keeps at least, with or without tasks in the group. A task
/// that exited in the window needs the name of a group that may be gone.
const KEPT: usize = 8192;

/// Kernel id of a hierarchy's root (`kernfs_create_root` in fs/kernfs/dir.c numbers from 1).
const ROOT: u64 = 1;

/// The root group; its name is the same everywhere, so no source reads it.
static ROOT_NAME: LazyLock<Arc<GroupName>> = LazyLock::new(|| {
    Arc::new(GroupName { id: ROOT, path: b"/".to_vec(), named: Arc::new(Named::default()) })
});

/// The names in the cache.
#[derive(Debug, Default)]
pub(crate) struct GroupNames {
    /// By group id, with a sequence number: higher is newer.
    known: FxHashMap<u64, (u64, Arc<GroupName>)>,
    told: u64,
}

impl GroupNames {
    /// Adds names. A full cache keeps the newest names and those `in_use`.
    pub fn add(&mut self, names: Vec<Arc<GroupName>>, in_use: impl FnOnce() -> FxHashSet<u64>) {
        if names.is_empty() {
            return;
        }
        for name in names {
            self.told += 1;
            self.known.insert(name.id, (self.told, name));
        }
        if self.known.len() > 2 * KEPT {
            let (in_use, old) = (in_use(), self.told.saturating_sub(KEPT as u64));
            self.known.retain(|id, (told, _)| *told > old || in_use.contains(id));
        }
    }

    /// The name of the group with this id; the root always has one.
    pub fn get(&self, id: u64) -> Option<&Arc<GroupName>> {
        let root = || (id == ROOT).then(|| &*ROOT_NAME);
        self.known.get(&id).map(|(_, name)| name).or_else(root)
    }

    /// All names, oldest first.
    pub fn all(&self) -> Vec<Arc<GroupName>> {
        let mut all: Vec<_> = self.known.values().collect();
        all.sort_unstable_by_key(|(told, _)| *told);
        all.into_iter().map(|(_, name)| Arc::clone(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(id: u64) -> Arc<GroupName> {
        Arc::new(GroupName { id, path: Vec::new(), named: Arc::default() })
    }

    #[test]
    fn the_root_has_a_name_before_any_is_added() {
        let mut names = GroupNames::default();
        assert_eq!(names.get(1).expect("always").path, b"/");
        assert!(names.get(2).is_none() && names.all().is_empty());
        let told = Arc::new(GroupName { id: 1, path: b"/told".to_vec(), named: Arc::default() });
        names.add(vec![told], FxHashSet::default);
        assert_eq!(names.get(1).expect("told").path, b"/told");
    }

    #[test]
    fn names_in_use_stay_however_many_are_added() {
        let mut names = GroupNames::default();
        for id in 0..10 * KEPT as u64 {
            names.add(vec![name(id)], || [3, 4].into_iter().collect());
        }
        assert!(names.known.len() <= 2 * KEPT + 1, "{}", names.known.len());
        let last = 10 * KEPT as u64 - 1;
        assert!([3, 4, last, last - 1000].iter().all(|&id| names.get(id).is_some()));
        assert!(names.get(5).is_none(), "long gone");
        let all = names.all();
        assert_eq!((all.len(), all[0].id), (names.known.len(), 3));
    }
}
