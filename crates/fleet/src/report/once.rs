//! Each window once: what was exported or copied twice is in the files twice.

use crate::check::Balance;
use crate::chunks::Chunk;
use crate::rows::Account;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};

/// Columns of `charges` that tell a row from all others: the window's, then the group's.
pub(super) const TOLD_BY: [&str; 8] =
    ["boot_id", "t1_ns", "length_ns", "namespace", "pod", "container", "unit", "command"];

/// What was seen in a pass, of hosts that have windows twice: of all others nothing is kept.
pub(super) struct Once<'a> {
    hosts: &'a FxHashSet<String>,
    /// A window is the first file's in which it is.
    windows: FxHashMap<u64, usize>,
    /// Rows within a file.
    rows: FxHashSet<u64>,
    hasher: RandomState,
}

/// Hosts with windows that are there more than once.
pub(super) fn doubled(balance: &Balance) -> FxHashSet<String> {
    let hosts = balance.hosts.iter().filter(|host| host.doubled > 0);
    hosts.map(|host| host.name.clone()).collect()
}

impl<'a> Once<'a> {
    pub(super) fn of(hosts: &'a FxHashSet<String>) -> Once<'a> {
        let (windows, rows) = (FxHashMap::default(), FxHashSet::default());
        Once { hosts, windows, rows, hasher: RandomState::new() }
    }

    fn hash(&self, of: impl Hash) -> u64 {
        self.hasher.hash_one(of)
    }

    /// Whether a row of `accounts` is the first of its window.
    pub(super) fn is_first(&mut self, row: &Account) -> bool {
        !self.hosts.contains(row.whose.host) || {
            let key = self.hash((row.whose, row.t1_ns, row.length_ns));
            self.rows.insert(key)
        }
    }

    /// Whether a row of `charges` is: those of a window are in one file. `told_by`: where its [`TOLD_BY`] begin.
    pub(super) fn is_charged_first(&mut self, chunk: &Chunk, row: usize, told_by: usize) -> bool {
        let host = chunk.text(1, row);
        if !self.hosts.contains(host) {
            return true;
        }
        let number = |n: usize| chunk.number(told_by + n, row);
        let window = self.hash((host, chunk.text(told_by, row), number(1), number(2)));
        if *self.windows.entry(window).or_insert(chunk.file) != chunk.file {
            return false;
        }
        let names = [3, 4, 5, 6, 7].map(|n| chunk.text(told_by + n, row));
        let key = self.hash((window, names));
        self.rows.insert(key)
    }
}
