//! The blame book of a window: the waits of each party, their parts by culprit, and their histograms.

use crate::table::{Row, Table};
use crate::tables::WindowFacts;
use crate::ExportError;
use exactop_model::blame::sizes::{Histogram, WaitKind};
use exactop_model::blame::{Culprit, Party};

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
