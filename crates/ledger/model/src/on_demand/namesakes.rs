//! Groups the processes of one name into one party, such as the short-lived children of a shell.

use crate::ledger::key::{Comm, TaskRef};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

/// One process or thread, the kernel itself, or several processes of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Party {
    /// The process or thread; for several processes their name, without a number.
    pub who: TaskRef,
    /// Number of processes; 0: the kernel itself.
    pub processes: u64,
}

/// The names of processes, and the number of processes of each name.
#[derive(Debug, Default)]
pub struct Namesakes {
    /// First name seen of each process; the process may execute another program later.
    names: FxHashMap<u32, Comm>,
    processes: FxHashMap<Comm, u64>,
}

impl Namesakes {
    /// The names of the processes of these tasks.
    pub fn among(tasks: impl Iterator<Item = TaskRef>) -> Namesakes {
        let mut of = Namesakes::default();
        for who in tasks.filter(|who| who.tgid != 0) {
            if let Entry::Vacant(place) = of.names.entry(who.tgid) {
                let name = *place.insert(who.process().comm);
                *of.processes.entry(name).or_default() += 1;
            }
        }
        of
    }

    /// The party of a task: its own process or thread, unless other processes have the same name.
    pub fn party(&self, who: TaskRef) -> Party {
        let Some(&name) = self.names.get(&who.tgid) else { return Party { who, processes: 0 } };
        match (self.processes.get(&name), who.tid) {
            (Some(&processes @ 2..), _) => {
                let who = TaskRef { tgid: 0, tid: None, comm: name, process: name };
                Party { who, processes }
            }
            (_, Some(_)) => Party { who, processes: 1 },
            (_, None) => Party { who: TaskRef { comm: name, process: name, ..who }, processes: 1 },
        }
    }
}

/// Sums the parts of each key, in order of the keys' first appearance.
pub fn sum_by<K: Copy + Eq + Hash, V>(
    parts: impl Iterator<Item = (K, V)>,
    mut add: impl FnMut(&mut V, V),
) -> Vec<(K, V)> {
    let mut places: FxHashMap<K, usize> = FxHashMap::default();
    let mut sums: Vec<(K, V)> = Vec::new();
    for (key, value) in parts {
        match places.get(&key) {
            Some(&at) => add(&mut sums[at].1, value),
            None => {
                places.insert(key, sums.len());
                sums.push((key, value));
            }
        }
    }
    sums
}
