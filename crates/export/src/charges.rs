//! Who used a window's CPU time, by name: the largest groups, and `~other` for all the rest.
//!
//! Groups are those of the metrics (namespace, pod, container, unit, command), so a store of windows and one
//! of metrics have the same words. `~other` is a sum like all others: no time is left out.

use crate::table::Table;
use crate::tables::Told;
use crate::ExportError;
use exactop_metrics::{charges, Charge, Labels, Names, Naming, Settings, OTHER, WAITS};
use exactop_metrics::{CgroupNames, Dimension};
use exactop_model::{Book, Quality, Window};
use std::collections::BTreeMap;

/// Groups that have a row of their own in a window, unless somebody says otherwise.
pub const GROUPS: usize = 40;

/// Names as the recording has them.
struct Recorded<'a>(&'a Book);

impl Names for Recorded<'_> {
    fn cgroup(&self, id: u64) -> Option<CgroupNames> {
        Some(CgroupNames::of(&self.0.group(id)?.named))
    }

    /// Groups are not told by it.
    fn user(&self, _: u32) -> Option<String> {
        None
    }
}

/// The groups of a window, `~other` last.
pub(crate) fn groups(window: &Window, book: &Book, most: usize) -> Vec<(Labels, Charge)> {
    let (settings, names) = (Settings::default(), Recorded(book));
    let mut naming = Naming::new(&settings, &names);
    let mut sums: BTreeMap<Labels, Charge> = BTreeMap::new();
    for (raw, charge) in charges(window, book, &settings) {
        sums.entry(naming.labels(&raw)).or_default().add(&charge);
    }
    let mut all: Vec<(Labels, Charge)> =
        sums.into_iter().filter(|(_, charge)| *charge != Charge::default()).collect();
    // What was wanted of the CPUs, had or not; of equals the first by name.
    all.sort_by_key(|(_, charge)| std::cmp::Reverse(charge.demand_ns()));
    if all.len() > most {
        let mut other = Charge::default();
        all.drain(most..).for_each(|(_, charge)| other.add(&charge));
        all.push((Labels::all(&settings.by, OTHER), other));
    }
    all
}

impl Told<'_> {
    /// Sums by name.
    pub(crate) fn charges(&self, table: &mut Table) -> Result<(), ExportError> {
        // As the columns are called.
        debug_assert_eq!(Settings::default().by, Dimension::ALL[..5]);
        for (labels, charge) in self.named {
            let mut row = table.row()?;
            row.instant(self.end())
                .unsigned(self.window.t1_ns)
                .unsigned(self.window.length_ns())
                .text(self.host.as_deref())
                .text(self.boot_id.as_deref());
            for label in &labels.0 {
                // In no such thing: no name is empty.
                row.text(label.as_deref().unwrap_or(""));
            }
            row.unsigned(whole(charge.run_ns)?);
            for ((_, counter), ns) in WAITS.into_iter().zip(charge.waits_ns) {
                let told = self.window.end.provenance.counters[counter as usize];
                let ns = if told == Quality::Missing { None } else { Some(whole(ns)?) };
                row.unsigned(ns);
            }
            row.unsigned(whole(charge.exited)?);
        }
        Ok(())
    }
}

/// Of one window: 2^64 ns are 584 years.
fn whole(sum: u128) -> Result<u64, ExportError> {
    u64::try_from(sum).map_err(|_| ExportError::TooLarge { sum })
}
