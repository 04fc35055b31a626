//! Histograms of waits under a key: one row for each owner.

use super::rows::owner_name;
use super::sizes::Sizes;
use super::Blame;
use crate::owner::{Grouping, OwnerNames};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// An owner whose tasks waited or came onto a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeRow {
    /// Name, escaped.
    pub group: String,
    /// Its waits.
    pub sizes: Sizes,
}

/// The histograms of a window under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizedWaits {
    /// Start of the window, CLOCK_MONOTONIC ns.
    pub t0_ns: u64,
    /// End of the window.
    pub t1_ns: u64,
    /// The key.
    pub by: Grouping,
    /// Differences between waits and histograms, ns; the same under every key.
    pub residual_ns: u64,
    /// Owners, the longest wait first.
    pub rows: Vec<SizeRow>,
}

impl SizedWaits {
    /// Sums a window's histograms. `user` names a user.
    pub fn new(
        blame: &Blame,
        (t0_ns, t1_ns): (u64, u64),
        by: Grouping,
        names: &dyn OwnerNames,
        user: &mut dyn FnMut(u32) -> Option<String>,
    ) -> SizedWaits {
        let mut sums: BTreeMap<String, Sizes> = BTreeMap::new();
        for (party, sizes) in &blame.sizes {
            sums.entry(owner_name(party, by, names, user)).or_default().add(sizes);
        }
        sums.retain(|_, sizes| *sizes != Sizes::default());
        let mut rows: Vec<SizeRow> =
            sums.into_iter().map(|(group, sizes)| SizeRow { group, sizes }).collect();
        rows.sort_by_key(|row| Reverse(row.sizes.waits.lat_ns));
        SizedWaits { t0_ns, t1_ns, by, residual_ns: blame.hist_residual_ns(), rows }
    }

    /// The histograms of some owners alone. The residual stays that of all.
    #[must_use]
    pub fn only(mut self, is_shown: impl Fn(&str) -> bool) -> SizedWaits {
        self.rows.retain(|row| is_shown(&row.group));
        self
    }
}
