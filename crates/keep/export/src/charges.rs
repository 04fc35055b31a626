//! CPU time of a window by name: the largest groups, and `~other` for the rest.
//!
//! Groups are those of the metrics ([`labelled`]: namespace, pod, container, unit, command), so a
//! store of windows and one of metrics use the same names. `~other` is a sum like the others: no
//! time is left out.

use crate::table::{Row, Table};
use crate::tables::WindowFacts;
use crate::ExportError;
use exactop_model::owner::{labelled, BookNames, Grouping, Labels, Usage, LABEL_OTHER, WAITS};
use exactop_model::{Book, Quality, Window};

/// Default number of groups with their own row in a window.
pub const GROUPS: usize = 40;

/// Columns that identify a row, in the order of the table. Users are not among them.
pub(crate) const COLUMNS: &[Grouping] = Grouping::LABELS.split_at(5).0;

/// The groups of a window, `~other` last.
pub(crate) fn groups(window: &Window, book: &Book, most: usize) -> Vec<(Labels, Usage)> {
    let sums = labelled(window, book, COLUMNS, &BookNames(book)).into_iter();
    let mut all: Vec<_> = sums.filter(|(_, usage)| *usage != Usage::default()).collect();
    // Order by CPU time and waiting together; ties by name.
    all.sort_by(|(a, x), (b, y)| y.demand_ns().cmp(&x.demand_ns()).then_with(|| a.cmp(b)));
    if all.len() > most {
        let mut other = Usage::default();
        all.drain(most..).for_each(|(_, usage)| other.add(&usage));
        all.push((Labels::all(COLUMNS, LABEL_OTHER), other));
    }
    all
}

impl WindowFacts<'_> {
    /// Writes one row for each group.
    pub(crate) fn charges(&self, table: &mut Table) -> Result<(), ExportError> {
        for (labels, usage) in self.named {
            let mut row = table.row()?;
            self.begin(&mut row);
            names(&mut row, labels);
            row.unsigned(whole(usage.run_ns)?);
            let waits = WAITS.into_iter().zip(usage.waits_ns).zip(usage.lacks);
            for (((_, counter), ns), lacks) in waits {
                let told = self.window.end.provenance.counters[counter as usize];
                let is_unknown = lacks || told == Quality::Missing;
                row.unsigned(if is_unknown { None } else { Some(whole(ns)?) });
            }
            row.unsigned(self.source().exited(whole(usage.exited)?));
        }
        Ok(())
    }
}

/// Writes the columns of a group. A missing label is stored as empty text: no name is empty.
pub(crate) fn names(row: &mut Row<'_>, labels: &Labels) {
    for label in &labels.0 {
        row.text(label.as_deref().unwrap_or(""));
    }
}

/// A sum of one window fits: 2^64 ns are 584 years.
fn whole(sum: u128) -> Result<u64, ExportError> {
    u64::try_from(sum).map_err(|_| ExportError::TooLarge { sum })
}
