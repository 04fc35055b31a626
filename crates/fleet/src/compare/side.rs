//! A range of many machines' time, summed by host and by group.

use crate::check::{check, Tolerance};
use crate::rows::Books;
use crate::sums::Sums;
use crate::{FleetError, Grouping};
use exactop_recording::TimeRange;
use rustc_hash::FxHashMap;

/// A host in a range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Name in the tables.
    pub name: String,
    /// Length of all its windows by CLOCK_MONOTONIC, ns.
    pub length_ns: u128,
    /// CPUs x length, ns.
    pub capacity_ns: u128,
    /// Unnamed CPU time, ns.
    pub unnamed_ns: u128,
}

/// CPU time of all groups with one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// The name; empty if the groups have none.
    pub name: String,
    /// CPU time on all hosts, ns.
    pub run_ns: u128,
    /// Hosts with this row.
    pub hosts: u64,
}

/// A range of many machines' time.
#[derive(Clone, Debug)]
pub struct Side {
    /// How rows are summed.
    pub by: Grouping,
    /// Beginning of the first window, by the hosts' wall clocks, ns since the epoch.
    pub from_ns: i128,
    /// End of the last window, by the hosts' wall clocks, ns since the epoch.
    pub to_ns: i128,
    /// Hosts with windows, by name.
    pub hosts: Vec<Host>,
    /// Sums of all windows; `charged_ns` is the sum of the rows.
    pub sums: Sums,
    /// Hosts with findings in the balance.
    pub findings: u64,
    /// Rows: the groups.
    pub rows: Vec<Total>,
    /// CPU time by row and host, ns.
    pub(super) used: FxHashMap<(u32, u32), u128>,
}

impl Side {
    /// Reads a range; `None` if no window ends in it. `now_ns`: current time, ns since the epoch.
    pub fn read(
        books: &dyn Books,
        when: TimeRange,
        by: Grouping,
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

    /// Reads accounts; returns the index of each host.
    fn accounts(
        &mut self,
        books: &dyn Books,
        when: TimeRange,
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

    /// Reads charges, without those of hosts that have no window.
    fn charges(
        &mut self,
        books: &dyn Books,
        when: TimeRange,
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

    /// CPU time of tasks and unnamed time, ns.
    pub fn busy_ns(&self) -> u128 {
        self.sums.named_ns() + self.sums.unnamed_ns
    }
}
