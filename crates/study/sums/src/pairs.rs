//! Who kept whom off the CPU over a stretch, by the blame books of its windows.

use exactop_model::blame::rows::{BlamedSums, CulpritKind, CulpritRow, VictimRow};
use std::collections::BTreeMap;

/// The blame books of a stretch's windows under its key, summed.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    /// Number of windows with a book.
    pub windows: u64,
    /// Their length together, ns.
    pub length_ns: u64,
    /// Differences between waits and pairs of each window, summed, ns.
    pub residual_ns: u64,
    /// Victims, the longest wait first.
    pub rows: Vec<VictimRow>,
}

impl Pairs {
    /// The sums of a stretch; `None`: no window has a book.
    pub(crate) fn from_sums(sums: BlamedSums, length_ns: u64) -> Option<Pairs> {
        let BlamedSums { windows, residual_ns, .. } = sums;
        (windows > 0).then(|| Pairs { windows, length_ns, residual_ns, rows: sums.into_rows() })
    }

    /// What is missing; `None` if each of `all` windows has a book that closes.
    pub(crate) fn lack(&self, all: u64) -> Option<String> {
        let Pairs { windows, residual_ns, .. } = self;
        (*windows < all || *residual_ns > 0).then(|| {
            format!(
                "{windows} of {all} windows have a blame book; its residual is {residual_ns} ns."
            )
        })
    }

    /// Nanoseconds of these windows as ms in each second.
    fn ms_a_second(&self, ns: u64) -> f64 {
        1000.0 * ns as f64 / self.length_ns.max(1) as f64
    }
}

/// A victim and a culprit on two sides.
#[derive(Clone, Debug, PartialEq)]
pub struct PairChange {
    /// Who waited.
    pub victim: String,
    /// Who had the CPU meanwhile.
    pub culprit: String,
    /// CulpritKind of culprit.
    pub kind: CulpritKind,
    /// Wait in the first range, ns.
    pub a_ns: u64,
    /// Wait in the second range, ns.
    pub b_ns: u64,
    /// Both waits, ms in each second of the windows with a book.
    pub ms_a_second: [f64; 2],
}

/// All pairs of both sides, the largest change per second first.
pub(crate) fn changes([a, b]: [&Pairs; 2]) -> Vec<PairChange> {
    let mut both: BTreeMap<(&str, CulpritKind, &str), [u64; 2]> = BTreeMap::new();
    for (side, pairs) in [a, b].into_iter().enumerate() {
        for row in &pairs.rows {
            for CulpritRow { culprit, kind, booked } in &row.culprits {
                both.entry((&row.victim, *kind, culprit)).or_default()[side] += booked.ns;
            }
        }
    }
    let mut changes: Vec<PairChange> = Vec::with_capacity(both.len());
    for ((victim, kind, culprit), [a_ns, b_ns]) in both {
        let (victim, culprit) = (victim.into(), culprit.into());
        let ms_a_second = [a.ms_a_second(a_ns), b.ms_a_second(b_ns)];
        changes.push(PairChange { victim, culprit, kind, a_ns, b_ns, ms_a_second });
    }
    let size = |of: &PairChange| (of.ms_a_second[1] - of.ms_a_second[0]).abs();
    changes.sort_by(|x, y| size(y).total_cmp(&size(x)));
    changes
}
