//! Counts each window once, although windows may be exported or copied twice.

use crate::check::Balance;
use crate::chunks::Chunk;
use crate::rows::Account;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};

/// Columns of `charges` that identify a row: the window's, then the group's.
pub(super) const ROW_KEY: [&str; 8] =
    ["boot_id", "t1_ns", "length_ns", "namespace", "pod", "container", "unit", "command"];

/// Windows seen in a pass, of hosts with duplicates only.
pub(super) struct Deduplicator<'a> {
    hosts: &'a FxHashSet<String>,
    /// The file that holds a window first, by the window's hash.
    windows: FxHashMap<u64, usize>,
    /// Rows seen in the current file.
    rows: FxHashSet<u64>,
    hasher: RandomState,
}

/// Hosts with duplicate windows.
pub(super) fn doubled(balance: &Balance) -> FxHashSet<String> {
    let hosts = balance.hosts.iter().filter(|host| host.doubled > 0);
    hosts.map(|host| host.name.clone()).collect()
}

impl<'a> Deduplicator<'a> {
    pub(super) fn new(hosts: &'a FxHashSet<String>) -> Deduplicator<'a> {
        let (windows, rows) = (FxHashMap::default(), FxHashSet::default());
        Deduplicator { hosts, windows, rows, hasher: RandomState::new() }
    }

    fn hash(&self, of: impl Hash) -> u64 {
        self.hasher.hash_one(of)
    }

    /// True for the first row of a window in `accounts`.
    pub(super) fn is_first(&mut self, row: &Account) -> bool {
        !self.hosts.contains(row.whose.host) || {
            let key = self.hash((row.whose, row.t1_ns, row.length_ns));
            self.rows.insert(key)
        }
    }

    /// The same for `charges`; all rows of a window are in one file. `told_by`: index of the first
    /// [`ROW_KEY`] column.
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
