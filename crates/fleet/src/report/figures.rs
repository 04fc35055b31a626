//! Figures of `charges` that a report needs beyond those of a balance, and how files provide them.

use super::cut::Cut;
use super::once::{Deduplicator, ROW_KEY};
use super::Grouping;
use crate::by::{columns, join, with_boot};
use crate::chunks::Chunk;
use crate::parquet::{ends_in, Parquet};
use crate::rows::Books;
use crate::FleetError;
use exactop_export::TableName;
use exactop_recording::TimeRange;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// First columns of `charges`. The columns of the name follow, and if windows are there twice,
/// [`ROW_KEY`].
const FIGURES: [&str; 6] =
    ["window_end", "host", "run_ns", "lat_ns", "throttle_ns", "exited_processes"];

/// What a report requests.
#[derive(Clone, Copy, Debug)]
pub struct ReportQuery<'a> {
    /// Time of the report.
    pub when: TimeRange,
    /// How rows are summed.
    pub by: Grouping,
    /// Hosts with duplicate windows: each window must count once.
    pub doubled: &'a FxHashSet<String>,
    /// Names that two machines have at once: rows by host add the boot.
    pub shared: &'a BTreeSet<String>,
}

impl ReportQuery<'_> {
    /// True if rows of hosts that share a name are split by boot.
    pub(super) fn by_boot(&self) -> bool {
        self.by == Grouping::Host && !self.shared.is_empty()
    }
}

/// Figures of a group on a host: one row of `charges`, or the sum of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Group<'a> {
    pub host: &'a str,
    /// The name; empty if the group has none.
    pub name: &'a str,
    /// Figures with each window once; `None` for a duplicate.
    pub once: Option<GroupSums>,
    /// CPU time of all rows, duplicates included, ns.
    pub rows_ns: u128,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct GroupSums {
    pub run_ns: u128,
    /// `None` if a row lacks it.
    pub lat_ns: Option<u128>,
    pub throttle_ns: Option<u128>,
    pub exited: Option<u128>,
}

/// Books that a report can be made of.
pub trait Figures: Books {
    /// Passes the figures of groups to `tell`, in no order.
    fn groups(&self, query: &ReportQuery, tell: &mut dyn FnMut(Group)) -> Result<(), FleetError>;

    /// Passes the CPU time of these names to `tell`, each window once: index of the piece, index of
    /// the name, ns.
    fn drawn(
        &self,
        query: &ReportQuery,
        names: &[&str],
        cut: &Cut,
        tell: &mut dyn FnMut(usize, usize, u128),
    ) -> Result<(), FleetError>;

    /// True if [`Figures::groups`] includes charges without accounts. In a store, their accounts
    /// may still follow.
    fn tells_strays(&self) -> bool;
}

impl Figures for Parquet {
    fn groups(&self, query: &ReportQuery, tell: &mut dyn FnMut(Group)) -> Result<(), FleetError> {
        of_charges(self, query, &mut |chunk, row, name, is_first| {
            let known = |column| chunk.unsigned(column, row).map(u128::from);
            let did = GroupSums {
                run_ns: known(2).unwrap_or(0),
                lat_ns: known(3),
                throttle_ns: known(4),
                exited: known(5),
            };
            let once = is_first.then_some(did);
            tell(Group { host: chunk.text(1, row), name, once, rows_ns: did.run_ns });
        })
    }

    fn drawn(
        &self,
        query: &ReportQuery,
        names: &[&str],
        cut: &Cut,
        tell: &mut dyn FnMut(usize, usize, u128),
    ) -> Result<(), FleetError> {
        let places: FxHashMap<&str, usize> =
            names.iter().enumerate().map(|(at, name)| (*name, at)).collect();
        of_charges(self, query, &mut |chunk, row, name, is_first| {
            let end = chunk.number(0, row).filter(|_| is_first);
            if let Some((end, &at)) = end.zip(places.get(name)) {
                tell(cut.at(end.into()), at, chunk.unsigned(2, row).unwrap_or(0).into());
            }
        })
    }

    fn tells_strays(&self) -> bool {
        true
    }
}

/// Passes each row of `charges` to `tell`, with its name and whether it is the first of its window.
fn of_charges(
    books: &Parquet,
    query: &ReportQuery,
    tell: &mut dyn FnMut(&Chunk, usize, &str, bool),
) -> Result<(), FleetError> {
    let mut wanted = FIGURES.to_vec();
    wanted.extend(columns(query.by)?);
    let (mut name, parts) = (String::new(), FIGURES.len()..wanted.len());
    let boot = query.by_boot().then_some(parts.end);
    wanted.extend(boot.map(|_| "boot_id"));
    let told_by = wanted.len();
    if !query.doubled.is_empty() {
        wanted.extend(ROW_KEY);
    }
    let mut once = Deduplicator::new(query.doubled);
    books.each(TableName::Charges, &wanted, &mut |chunk| {
        for row in (0..chunk.rows).filter(|&row| ends_in(chunk, row, query.when)) {
            join(&mut name, parts.clone().map(|column| chunk.text(column, row)));
            if let Some(boot) = boot.filter(|_| query.shared.contains(&name)) {
                with_boot(&mut name, chunk.text(boot, row));
            }
            tell(chunk, row, &name, once.is_charged_first(chunk, row, told_by));
        }
    })
}
