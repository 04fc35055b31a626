//! Processes of one name as one party, as people tell the short-lived ones of a shell.

use crate::ledger::key::{Comm, Who};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

/// One process or thread, the kernel itself, or several processes of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Party {
    /// Several processes have their name and no number.
    pub who: Who,
    /// How many processes; 0: the kernel itself.
    pub processes: u64,
}

/// The names of processes, and how many processes have each.
#[derive(Debug, Default)]
pub struct Namesakes {
    /// The first one that is told of each: it may execute another program meanwhile.
    names: FxHashMap<u32, Comm>,
    processes: FxHashMap<Comm, u64>,
}

impl Namesakes {
    /// Those of the processes of these tasks.
    pub fn among(tasks: impl Iterator<Item = Who>) -> Namesakes {
        let mut of = Namesakes::default();
        for who in tasks.filter(|who| who.tgid != 0) {
            if let Entry::Vacant(place) = of.names.entry(who.tgid) {
                let name = *place.insert(who.process().comm);
                *of.processes.entry(name).or_default() += 1;
            }
        }
        of
    }

    /// The party that a task belongs to: where its process has no namesake, itself.
    pub fn party(&self, who: Who) -> Party {
        let Some(&name) = self.names.get(&who.tgid) else { return Party { who, processes: 0 } };
        match (self.processes.get(&name), who.tid) {
            (Some(&processes @ 2..), _) => {
                let who = Who { tgid: 0, tid: None, comm: name, process: name };
                Party { who, processes }
            }
            (_, Some(_)) => Party { who, processes: 1 },
            (_, None) => Party { who: Who { comm: name, process: name, ..who }, processes: 1 },
        }
    }
}

/// Sums what belongs to one key, in the order in which the keys come.
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
