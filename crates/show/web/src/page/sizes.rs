//! Waits for a CPU by size: the histograms of the blame book, by slot.

use crate::page::cells::Columns;
use crate::page::moment::Moment;
use crate::page::pairs::{columns, keep, BySlot, KEYS};
use exactop_model::blame::size_rows::SizedWaits;
use exactop_model::blame::sizes::{WaitKind, BUCKETS};
use exactop_model::owner::LABEL_OTHER;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Counts of a slot: of each bucket the waits of each kind.
const OF_A_SLOT: usize = BUCKETS * WaitKind::ALL.len();

/// An owner under a key, with the number of its ended waits. All text is escaped.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SizedOwner {
    /// Its name among the owners.
    pub key: String,
    pub by: &'static str,
    pub owner: String,
    /// By place instead of slot: the slot, then the bucket, then how the waits began.
    #[serde(flatten)]
    pub cells: Columns,
}

/// The owners under a key, while they are summed.
#[derive(Debug, Default)]
struct Owners {
    counts: BTreeMap<String, BySlot>,
    /// Owners that were added to the others stay there, for a part of a histogram would mislead.
    added_up: BTreeSet<String>,
}

/// Histograms while they are filled.
#[derive(Debug)]
pub(crate) struct FillingSizes {
    /// Most counts under a key, besides those of all other owners.
    most: usize,
    keys: [Owners; KEYS.len()],
}

impl FillingSizes {
    pub fn new(most: usize) -> FillingSizes {
        FillingSizes { most, keys: Default::default() }
    }

    /// Takes a window. Returns the time of which its histograms tell, ns: 0 without any.
    pub fn take(&mut self, moment: &dyn Moment, slot: u32) -> u64 {
        let window = moment.window();
        let Some(blame) = window.blame.as_ref().filter(|blame| !blame.sizes.is_empty()) else {
            return 0;
        };
        let time = (window.t0_ns, window.t1_ns);
        for (by, owners) in KEYS.into_iter().zip(&mut self.keys) {
            for row in SizedWaits::new(blame, time, by, moment.book(), &mut |_| None).rows {
                let counts = owners.of(row.group);
                for kind in WaitKind::ALL {
                    let of_kind = row.sizes.histogram(kind).counts().into_iter().enumerate();
                    for (bucket, count) in of_kind.filter(|(_, count)| *count > 0) {
                        let within = bucket * WaitKind::ALL.len() + kind as usize;
                        let place = slot * OF_A_SLOT as u32 + within as u32;
                        *counts.entry(place).or_default() += count;
                    }
                }
            }
            owners.keep(2 * self.most, self.most);
        }
        window.length_ns()
    }

    pub fn finish(self) -> Vec<SizedOwner> {
        let mut sizes = Vec::new();
        for (by, mut owners) in KEYS.into_iter().zip(self.keys) {
            owners.keep(self.most, self.most);
            let by = by.name();
            let full = owners.counts.into_iter().filter(|(_, counts)| !counts.is_empty());
            sizes.extend(full.map(|(owner, counts)| SizedOwner {
                key: format!("{by}\n{owner}"),
                by,
                owner,
                cells: columns(&counts),
            }));
        }
        sizes
    }
}

impl Owners {
    /// The counts to which those of an owner are added.
    fn of(&mut self, owner: String) -> &mut BySlot {
        let is_added_up = self.added_up.contains(&owner);
        self.counts.entry(if is_added_up { LABEL_OTHER.into() } else { owner }).or_default()
    }

    /// If the owners have more counts than a limit, keeps at most `most` of them, of those that
    /// waited most often.
    fn keep(&mut self, limit: usize, most: usize) {
        let own = self.counts.iter().filter(|(owner, _)| *owner != LABEL_OTHER);
        if own.map(|(_, counts)| counts.len()).sum::<usize>() <= limit {
            return;
        }
        let mut left = Some(most);
        self.added_up.extend(keep(&mut self.counts, LABEL_OTHER.into(), |counts| {
            left = left.and_then(|left| left.checked_sub(counts.len()));
            left.is_some()
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_has_all_of_its_waits_or_none() {
        let (mut owners, mut all) = (Owners::default(), Owners::default());
        for slot in 0..15_u32 {
            for n in 0..10_u64 {
                let count = 1 + n * u64::from(slot % 7);
                for owners in [&mut owners, &mut all] {
                    *owners.of(format!("owner {n}")).entry(slot).or_default() += count;
                }
            }
            owners.keep(80, 40);
        }
        owners.keep(40, 40);
        let sum = |owners: &Owners| owners.counts.values().flatten().map(|(_, n)| n).sum::<u64>();
        assert_eq!(sum(&owners), sum(&all));
        let others = owners.counts.remove(LABEL_OTHER).expect("they were too many");
        assert_eq!(others.len(), 15);
        // 15 counts each, of which there is room for two; nine of ten were too many at once.
        assert_eq!(owners.counts.len(), 2);
        for (owner, counts) in &owners.counts {
            assert_eq!(counts, &all.counts[owner]);
        }
    }
}
