//! Merges rows of two windows or of many threads.

use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::hash::Hash;

/// Adds each row to the row with the same key, or appends it.
pub(super) fn merge<K: Hash + Eq, V>(
    rows: &mut Vec<V>,
    more: impl IntoIterator<Item = V>,
    key: impl Fn(&V) -> K,
    add: impl Fn(&mut V, &V),
) {
    let mut places: FxHashMap<K, usize> =
        (0..).zip(&*rows).map(|(at, row)| (key(row), at)).collect();
    for row in more {
        match places.entry(key(&row)) {
            Entry::Occupied(place) => add(&mut rows[*place.get()], &row),
            Entry::Vacant(place) => {
                place.insert(rows.len());
                rows.push(row);
            }
        }
    }
}

/// Keeps the rows with the largest figures; `most` maps the number of rows to the number to keep.
pub(super) fn leave<T, K: Ord>(
    rows: &mut Vec<T>,
    most: impl Fn(usize) -> usize,
    by: impl Fn(&T) -> K,
) {
    rows.sort_by_key(|row| Reverse(by(row)));
    rows.truncate(most(rows.len()));
}
