//! Reads a report in passes: first the sums, then the details of the largest rows.

use super::cut::Cut;
use super::figures::{Figures, Group, GroupSums, ReportQuery};
use super::once::{doubled, Deduplicator};
use super::{Grouping, Report, Row};
use crate::check::{check, Balance, Tolerance};
use crate::rows::Account;
use crate::sums::Sums;
use crate::FleetError;
use exactop_recording::TimeRange;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Rows whose pieces are kept.
const DRAWN: usize = 5;

impl Report {
    /// Reads a time; `None` if no window ends in it.
    pub fn read(
        books: &dyn Figures,
        when: TimeRange,
        by: Grouping,
        now_ns: i128,
    ) -> Result<Option<Report>, FleetError> {
        let balance = check(books, when, &Tolerance::default(), now_ns)?;
        let (mut from, mut to) = (i128::MAX, i128::MIN);
        of_accounts(books, when, &mut |row| {
            from = from.min(begins_ns(row));
            to = to.max(row.end_ns.into());
        })?;
        if from > to {
            return Ok(None);
        }
        let cut = Cut::from_span(from, to);
        let shared = shared(&balance);
        let query = ReportQuery { when, by, doubled: &doubled(&balance), shared: &shared };
        let mut pieces = cut.pieces();
        // Sums of all rows, as in the balance.
        let mut there = Sums::default();
        let mut once = Deduplicator::new(query.doubled);
        of_accounts(books, when, &mut |row| {
            there.add(row);
            if let Some(piece) = pieces.get_mut(cut.at(row.end_ns.into())) {
                if once.is_first(row) {
                    piece.sums.add(row);
                }
            }
        })?;
        let mut groups = Groups::default();
        books.groups(&query, &mut |group| {
            there.charged_ns += group.rows_ns;
            groups.add(&group);
        })?;
        if !is_all(&there, &balance, books) {
            return Err(FleetError::Changed);
        }
        let rows = groups.rows();
        let drawn: Vec<&str> = rows.iter().take(DRAWN).map(|row| &*row.name).collect();
        pieces.iter_mut().for_each(|piece| piece.run_ns = vec![0; drawn.len()]);
        books.drawn(&query, &drawn, &cut, &mut |piece, at, run_ns| {
            if let Some(sum) = pieces.get_mut(piece).and_then(|piece| piece.run_ns.get_mut(at)) {
                *sum += run_ns;
            }
        })?;
        pieces.retain(|piece| piece.sums.windows > 0);
        let sums = pieces.iter().fold(Sums::default(), |mut all, piece| {
            all.and(&piece.sums);
            all
        });
        let sums = Sums { charged_ns: rows.iter().map(|row| row.run_ns).sum(), ..sums };
        Ok(Some(Report { by, from_ns: from, to_ns: to, sums, rows, pieces, balance }))
    }
}

/// Names that two machines have at once.
fn shared(balance: &Balance) -> BTreeSet<String> {
    let hosts = balance.hosts.iter().filter(|host| !host.boots_at_once.is_empty());
    hosts.map(|host| host.name.clone()).collect()
}

/// Passes the rows that count to `tell`.
fn of_accounts(
    books: &dyn Figures,
    when: TimeRange,
    tell: &mut dyn FnMut(&Account),
) -> Result<(), FleetError> {
    books.accounts(when, &mut |row| {
        if !row.is_new {
            tell(&row);
        }
    })
}

/// True if this pass read the same rows as the balance.
fn is_all(there: &Sums, balance: &Balance, books: &dyn Figures) -> bool {
    let without = !books.tells_strays() && balance.hosts.iter().any(|host| host.stray > 0);
    let charged_ns = if without { there.charged_ns } else { balance.sums.charged_ns };
    *there == Sums { charged_ns, ..balance.sums }
}

fn begins_ns(row: &Account) -> i128 {
    i128::from(row.end_ns) - i128::from(row.length_ns)
}

/// Sums by name.
#[derive(Default)]
struct Groups {
    places: FxHashMap<String, usize>,
    rows: Vec<Row>,
    hosts: FxHashMap<String, u32>,
    on: FxHashSet<(usize, u32)>,
}

impl Groups {
    fn add(&mut self, group: &Group) {
        let &Group { host, name, once: Some(did), .. } = group else { return };
        let place = match self.places.get(name) {
            Some(&place) => place,
            None => {
                let row = Row {
                    name: name.into(),
                    lat_ns: Some(0),
                    throttle_ns: Some(0),
                    exited: Some(0),
                    ..Row::default()
                };
                self.places.insert(name.into(), self.rows.len());
                self.rows.push(row);
                self.rows.len() - 1
            }
        };
        let number = match self.hosts.get(host) {
            Some(&number) => number,
            None => {
                let number = self.hosts.len() as u32;
                self.hosts.insert(host.into(), number);
                number
            }
        };
        self.on.insert((place, number));
        self.rows[place].add(&did);
    }

    /// The rows, the largest first.
    fn rows(mut self) -> Vec<Row> {
        for (place, _) in self.on {
            self.rows[place].hosts += 1;
        }
        self.rows.sort_by(|a, b| b.run_ns.cmp(&a.run_ns).then_with(|| a.name.cmp(&b.name)));
        self.rows
    }
}

impl Row {
    fn add(&mut self, did: &GroupSums) {
        self.run_ns += did.run_ns;
        self.lat_ns = self.lat_ns.zip(did.lat_ns).map(|(sum, ns)| sum + ns);
        self.throttle_ns = self.throttle_ns.zip(did.throttle_ns).map(|(sum, ns)| sum + ns);
        self.exited = self.exited.zip(did.exited).map(|(sum, n)| sum + n);
    }
}
