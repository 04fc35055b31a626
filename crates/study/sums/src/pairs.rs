//! Who kept whom off the CPU over a stretch, by the blame books of its windows.

use exactop_model::blame::rows::{BlamedSums, CulpritRow, Kind, VictimRow};
use std::collections::BTreeMap;

/// The blame books of a stretch's windows under its key, summed.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    /// Number of windows with a book.
    pub windows: u64,
    /// Differences between waits and pairs of each window, summed, ns.
    pub residual_ns: u64,
    /// Victims, the longest wait first.
    pub rows: Vec<VictimRow>,
}

impl Pairs {
    /// The sums of a stretch; `None`: no window has a book.
    pub(crate) fn from_sums(sums: BlamedSums) -> Option<Pairs> {
        let BlamedSums { windows, residual_ns, .. } = sums;
        (windows > 0).then(|| Pairs { windows, residual_ns, rows: sums.into_rows() })
    }
}

/// A victim and a culprit on two sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairChange {
    /// Who waited.
    pub victim: String,
    /// Who had the CPU meanwhile.
    pub culprit: String,
    /// Kind of culprit.
    pub kind: Kind,
    /// Wait in the first range, ns.
    pub a_ns: u64,
    /// Wait in the second range, ns.
    pub b_ns: u64,
}

impl PairChange {
    /// Waits of both sides, ms in each second of the sides' lengths.
    pub(crate) fn ms_a_second(&self, [a_ns, b_ns]: [u64; 2]) -> [f64; 2] {
        [(self.a_ns, a_ns), (self.b_ns, b_ns)]
            .map(|(ns, length_ns)| 1000.0 * ns as f64 / length_ns.max(1) as f64)
    }
}

/// All pairs of both sides, the largest change per second of the sides' lengths first.
pub(crate) fn changes(sides: [&Pairs; 2], lengths_ns: [u64; 2]) -> Vec<PairChange> {
    let mut both: BTreeMap<(&str, Kind, &str), [u64; 2]> = BTreeMap::new();
    for (side, pairs) in sides.into_iter().enumerate() {
        for row in &pairs.rows {
            for CulpritRow { culprit, kind, booked } in &row.culprits {
                both.entry((&row.victim, *kind, culprit)).or_default()[side] += booked.ns;
            }
        }
    }
    let mut changes: Vec<PairChange> = Vec::with_capacity(both.len());
    for ((victim, kind, culprit), [a_ns, b_ns]) in both {
        let (victim, culprit) = (victim.into(), culprit.into());
        changes.push(PairChange { victim, culprit, kind, a_ns, b_ns });
    }
    let size = |of: &PairChange| {
        let [in_a, in_b] = of.ms_a_second(lengths_ns);
        (in_b - in_a).abs()
    };
    changes.sort_by(|x, y| size(y).total_cmp(&size(x)));
    changes
}
