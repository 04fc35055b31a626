//! Culprits of the blame book as text, the same in every view.

use crate::blame::rows::{CulpritKind, CulpritRow, VictimRow};

/// The first culprits with their shares of what was booked: `batch 71 %, itself 22 %`.
pub fn culprits(row: &VictimRow, most: usize) -> String {
    let all_ns = row.booked_ns().max(1) as f64;
    let percent = |culprit: &CulpritRow| 100.0 * culprit.booked.ns as f64 / all_ns;
    // Only the first may round to 0 %.
    let told = |(n, culprit): &(usize, &CulpritRow)| *n == 0 || percent(culprit) >= 0.5;
    let told = row.culprits.iter().take(most).enumerate().filter(told);
    let share = told.map(|(_, culprit)| {
        let name = culprit_name(culprit.kind, &culprit.culprit);
        format!("{name} {:.0} %", percent(culprit))
    });
    share.collect::<Vec<_>>().join(", ")
}

/// A culprit beside its victim.
pub fn culprit_name(kind: CulpritKind, name: &str) -> &str {
    match kind {
        CulpritKind::Own => "itself",
        _ => name,
    }
}
