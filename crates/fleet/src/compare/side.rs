//! A stretch of many machines' time, summed by host and by group.

use crate::check::{check, Tolerance};
use crate::rows::Books;
use crate::sums::Sums;
use crate::{By, FleetError};
use exactop_recording::When;
use rustc_hash::FxHashMap;

/// A host of a stretch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// As the tables have it.
    pub name: String,
    /// Of all its windows, by CLOCK_MONOTONIC.
    pub length_ns: u128,
    /// CPUs x length.
    pub capacity_ns: u128,
    /// Used by nobody with a name.
    pub unnamed_ns: u128,
}

/// What all groups of one name used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Empty: they are in no such thing.
    pub name: String,
    /// CPU time of all hosts.
    pub run_ns: u128,
    /// Hosts on which it has a row.
    pub hosts: u64,
}

/// A stretch of time of many machines.
#[derive(Clone, Debug)]
pub struct Side {
    /// What its rows stand for.
    pub by: By,
    /// Where its first window begins and its last one ends, by the hosts' wall clocks.
    pub from_ns: i128,
    /// The latter.
    pub to_ns: i128,
    /// Hosts that have windows, by name.
    pub hosts: Vec<Host>,
    /// Of all windows; what is charged is what rows come to.
    pub sums: Sums,
    /// Hosts of which the balance has something to say.
    pub findings: u64,
    /// Who used it.
    pub rows: Vec<Total>,
    /// By row and host.
    pub(super) used: FxHashMap<(u32, u32), u128>,
}

impl Side {
    /// Reads a stretch; `None`: no window ends in it. `now_ns`: what the time is, ns since the epoch.
    ///
    /// # Errors
    /// [`FleetError`]
    pub fn read(
        books: &dyn Books,
        when: When,
        by: By,
        now_ns: i128,
    ) -> Result<Option<Side>, FleetError> {
        let balance = check(books, when, &Tolerance::default(), now_ns)?;
        let mut side = Side {
            by,
            from_ns: i128::MAX,
            to_ns: i128::MIN,
            hosts: Vec::new(),
            sums: Sums::default(),
            findings: balance.hosts.iter().filter(|host| !host.is_well()).count() as u64,
            rows: Vec::new(),
            used: FxHashMap::default(),
        };
        let places = side.accounts(books, when)?;
        if side.sums != (Sums { charged_ns: 0, ..balance.sums }) {
            return Err(FleetError::Changed);
        }
        side.charges(books, when, &places)?;
        Ok((!side.hosts.is_empty()).then_some(side))
    }

    /// Where the time went; yields the hosts' places.
    fn accounts(
        &mut self,
        books: &dyn Books,
        when: When,
    ) -> Result<FxHashMap<String, u32>, FleetError> {
        let mut hosts: FxHashMap<String, Host> = FxHashMap::default();
        books.accounts(when, &mut |row| {
            if row.is_new {
                return;
            }
            self.sums.add(&row);
            self.from_ns = self.from_ns.min(i128::from(row.end_ns) - i128::from(row.length_ns));
            self.to_ns = self.to_ns.max(row.end_ns.into());
            let host = match hosts.get_mut(row.whose.host) {
                Some(host) => host,
                None => hosts.entry(row.whose.host.into()).or_default(),
            };
            host.length_ns += u128::from(row.length_ns);
            host.capacity_ns += u128::from(row.capacity_ns);
            host.unnamed_ns += u128::from(row.unnamed_ns);
        })?;
        self.hosts = hosts.into_iter().map(|(name, host)| Host { name, ..host }).collect();
        self.hosts.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok((0..).zip(&self.hosts).map(|(at, host)| (host.name.clone(), at)).collect())
    }

    /// Who used it. Charges of hosts without a window of their own are no part of it.
    fn charges(
        &mut self,
        books: &dyn Books,
        when: When,
        hosts: &FxHashMap<String, u32>,
    ) -> Result<(), FleetError> {
        let mut places: FxHashMap<String, u32> = FxHashMap::default();
        books.used(when, self.by, &mut |row| {
            let Some(&host) = hosts.get(row.host) else { return };
            let place = match places.get(row.name) {
                Some(&place) => place,
                None => {
                    let place = self.rows.len() as u32;
                    places.insert(row.name.into(), place);
                    self.rows.push(Total { name: row.name.into(), ..Total::default() });
                    place
                }
            };
            let total = &mut self.rows[place as usize];
            total.run_ns += row.run_ns;
            self.sums.charged_ns += row.run_ns;
            let used = self.used.entry((place, host)).or_insert_with(|| {
                total.hosts += 1;
                0
            });
            *used += row.run_ns;
        })
    }

    /// Used by tasks and by nobody with a name.
    pub fn busy_ns(&self) -> u128 {
        self.sums.named_ns() + self.sums.unnamed_ns
    }
}
