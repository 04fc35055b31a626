//! The blame book of a window: the waits of each party, their parts by culprit, and their histograms. The
//! fleet's table has the parts by name, the largest with a row of their own.

use crate::charges::{names, COLUMNS};
use crate::table::{Row, Table};
use crate::tables::WindowFacts;
use crate::ExportError;
use exactop_model::blame::labels::{labelled_pairs, LabelledPair};
use exactop_model::blame::sizes::{Histogram, WaitKind};
use exactop_model::blame::{Booked, Culprit, Party};
use exactop_model::owner::{BookNames, Labels, LABEL_OTHER};
use std::collections::BTreeMap;

impl WindowFacts<'_> {
    /// Writes the waits of each party.
    pub(crate) fn waits(&self, table: &mut Table) -> Result<(), ExportError> {
        let Some(blame) = &self.window.blame else { return Ok(()) };
        let mut all: Vec<_> = blame.waits.iter().collect();
        all.sort_by_key(|(victim, _)| **victim);
        for (victim, waits) in all {
            let mut row = table.row()?;
            row.instant(self.end()).unsigned(self.window.t1_ns);
            self.party(&mut row, *victim);
            row.signed(waits.lat_ns).signed(waits.dispatches).signed(waits.in_flight_delta_ns);
        }
        Ok(())
    }

    /// Writes the parts of these waits.
    pub(crate) fn pairs(&self, table: &mut Table) -> Result<(), ExportError> {
        let Some(blame) = &self.window.blame else { return Ok(()) };
        let mut all: Vec<_> = blame.pairs.iter().collect();
        all.sort_by_key(|(pair, _)| **pair);
        for ((victim, culprit), booked) in all {
            let (kind, task) = match culprit {
                Culprit::Task(party) => ("task", Some(*party)),
                other => (other.kind().name(), None),
            };
            let mut row = table.row()?;
            row.instant(self.end()).unsigned(self.window.t1_ns);
            self.party(&mut row, *victim);
            row.text(kind);
            self.party(&mut row, task);
            row.unsigned(booked.ns).unsigned(booked.times);
        }
        Ok(())
    }

    /// Writes the histograms of the waits.
    pub(crate) fn histograms(&self, table: &mut Table) -> Result<(), ExportError> {
        let Some(blame) = &self.window.blame else { return Ok(()) };
        let mut all: Vec<_> = blame.sizes.iter().collect();
        all.sort_by_key(|(party, _)| **party);
        for (party, sizes) in all {
            for kind in WaitKind::ALL {
                let histogram = sizes.histogram(kind);
                if *histogram == Histogram::default() {
                    continue;
                }
                let mut row = table.row()?;
                row.instant(self.end()).unsigned(self.window.t1_ns);
                self.party(&mut row, *party);
                row.text(kind.name()).numbers(&histogram.counts());
                row.numbers(&histogram.buckets().map(|sized| sized.ns))
                    .unsigned(histogram.max_ns());
            }
        }
        Ok(())
    }

    /// Writes the largest pairs by name, and the others of each kind as `~other`.
    pub(crate) fn blame(&self, table: &mut Table) -> Result<(), ExportError> {
        let Some(blame) = &self.window.blame else { return Ok(()) };
        let mut pairs = labelled_pairs(blame, self.book, COLUMNS, &BookNames(self.book));
        pairs.sort_by(|(a, x), (b, y)| y.ns.cmp(&x.ns).then_with(|| a.cmp(b)));
        let mut others: BTreeMap<LabelledPair, Booked> = BTreeMap::new();
        for ((_, kind, culprit), booked) in pairs.drain(self.most.min(pairs.len())..) {
            let other = Labels::all(COLUMNS, LABEL_OTHER);
            let is_named = culprit.0.iter().any(Option::is_some);
            let culprit = if is_named { other.clone() } else { culprit };
            others.entry((other, kind, culprit)).or_default().add(&booked);
        }
        for ((victim, kind, culprit), booked) in pairs.into_iter().chain(others) {
            let mut row = table.row()?;
            self.begin(&mut row);
            names(&mut row, &victim);
            row.text(kind.name());
            names(&mut row, &culprit);
            row.unsigned(booked.ns).unsigned(booked.times);
        }
        Ok(())
    }

    /// Writes the columns of a party; `None`: all are null.
    fn party(&self, row: &mut Row<'_>, party: Option<Party>) {
        let of = |number: fn(Party) -> u64| party.map(number);
        let cgroup_id = of(|party| party.cgroup_id).filter(|&id| id != 0);
        row.text(party.map(|party| party.comm.to_string()).as_deref())
            .unsigned(of(|party| party.uid.into()))
            .text(party.and_then(|party| self.names.user(party.uid)))
            .unsigned(of(|party| party.session.into()))
            .unsigned(cgroup_id)
            .text(self.path(cgroup_id).as_deref())
            .flag(party.map(|party| party.kthread));
    }
}
