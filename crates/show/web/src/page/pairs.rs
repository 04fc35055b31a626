//! Who had the CPU while others waited for it: the pairs of the blame book, by slot.

use crate::page::cells::{Cells, Columns};
use crate::page::moment::Moment;
use exactop_model::blame::rows::{BlamedSums, CulpritKind};
use exactop_model::owner::{Grouping, LABEL_OTHER};
use exactop_model::words::blame::culprit_name;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Keys of the page's pairs.
pub(crate) const KEYS: [Grouping; 2] = [Grouping::Cgroup, Grouping::Command];

/// A victim and a culprit under a key, with the wait in ns by slot. All text is escaped.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Pair {
    /// Its name among the pairs.
    pub key: String,
    pub by: &'static str,
    pub victim: String,
    /// As in docs/reference/json.md.
    pub kind: &'static str,
    /// Its name in words.
    pub culprit: String,
    #[serde(flatten)]
    pub cells: Columns,
}

/// Figures by slot.
pub(crate) type BySlot = BTreeMap<u32, u64>;

/// Pairs while they are filled.
#[derive(Debug)]
pub(crate) struct FillingPairs {
    /// Most pairs of a key; others are one.
    most: usize,
    sums: [BTreeMap<(String, CulpritKind, String), BySlot>; KEYS.len()],
}

impl FillingPairs {
    pub fn new(most: usize) -> FillingPairs {
        FillingPairs { most, sums: Default::default() }
    }

    /// Takes a window. Returns the time of which the book tells, ns: 0 without one.
    pub fn take(&mut self, moment: &dyn Moment, slot: u32) -> u64 {
        let window = moment.window();
        let Some(blame) = &window.blame else { return 0 };
        for (by, sums) in KEYS.into_iter().zip(&mut self.sums) {
            let mut told = BlamedSums::default();
            told.add(blame, by, moment.book(), &mut |_| None);
            for row in told.into_rows() {
                for culprit in row.culprits {
                    let pair = (row.victim.clone(), culprit.kind, culprit.culprit);
                    *sums.entry(pair).or_default().entry(slot).or_default() += culprit.booked.ns;
                }
            }
            if sums.len() > 2 * self.most {
                keep_pairs(sums, self.most);
            }
        }
        window.length_ns()
    }

    pub fn finish(mut self) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for (by, sums) in KEYS.into_iter().zip(&mut self.sums) {
            keep_pairs(sums, self.most);
            let by = by.name();
            pairs.extend(std::mem::take(sums).into_iter().map(
                |((victim, kind, culprit), waits)| {
                    let cells = columns(&waits);
                    let (name, kind) = (culprit_name(kind, &culprit), kind.name());
                    let key = format!("{by}\n{victim}\n{kind}\n{culprit}");
                    let culprit = name.to_string();
                    Pair { key, by, victim, kind, culprit, cells }
                },
            ));
        }
        pairs
    }
}

/// Keeps the pairs with the longest waits; the others are added up.
fn keep_pairs(sums: &mut BTreeMap<(String, CulpritKind, String), BySlot>, most: usize) {
    if sums.len() <= most {
        return;
    }
    let other = (LABEL_OTHER.to_string(), CulpritKind::Other, LABEL_OTHER.to_string());
    let mut left = most.max(1);
    keep(sums, other, |_| {
        left -= 1;
        left > 0
    });
}

/// Keeps the entries with the largest sums while there is room; the others are added up. Returns
/// the names of those.
pub(crate) fn keep<K: Ord>(
    sums: &mut BTreeMap<K, BySlot>,
    other: K,
    mut has_room: impl FnMut(&BySlot) -> bool,
) -> Vec<K> {
    let mut others = sums.remove(&other).unwrap_or_default();
    let mut all: Vec<_> = std::mem::take(sums).into_iter().collect();
    all.sort_by_key(|(_, figures)| Reverse(figures.values().sum::<u64>()));
    let kept = all.iter().take_while(|(_, figures)| has_room(figures)).count();
    let (names, rest): (Vec<K>, Vec<BySlot>) = all.drain(kept..).unzip();
    for (slot, figure) in rest.into_iter().flatten() {
        *others.entry(slot).or_default() += figure;
    }
    sums.extend(all.into_iter().chain([(other, others)]));
    names
}

/// The figures as the document holds them.
pub(crate) fn columns(figures: &BySlot) -> Columns {
    let mut cells = Cells::default();
    figures.iter().for_each(|(&slot, &figure)| cells.add(slot, &[Some(figure)]));
    cells.columns(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_waits_stay_and_nothing_is_lost() {
        let mut sums = BTreeMap::new();
        for n in 0..100_u64 {
            let pair = (format!("victim {n}"), CulpritKind::Group, "culprit".to_string());
            sums.insert(pair, BySlot::from([(n as u32 % 3, n), (5, 1)]));
        }
        let all = |sums: &BTreeMap<_, BySlot>| {
            let mut by_slot = BySlot::new();
            for (slot, ns) in sums.values().flatten() {
                *by_slot.entry(*slot).or_default() += ns;
            }
            by_slot
        };
        let before = all(&sums);
        for most in [40, 10, 10, 1] {
            keep_pairs(&mut sums, most);
            assert_eq!((all(&sums), sums.len()), (before.clone(), most));
            let names: Vec<&String> = sums.keys().map(|(victim, ..)| victim).collect();
            assert!(names.contains(&&LABEL_OTHER.to_string()));
            assert_eq!(names.contains(&&"victim 99".to_string()), most > 1, "{names:?}");
        }
    }
}
