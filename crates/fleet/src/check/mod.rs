//! Checks if a fleet's books balance: the tables have each window of each host once and complete,
//! and the sums match.
//!
//! Host, boot and end by CLOCK_MONOTONIC identify a window, even after a wall clock was set. Rows
//! have no order, so all windows stay in memory until the end, 112 bytes each.

mod clocks;
mod host;
mod json;
mod page;
mod tolerance;

pub use host::{Host, Jump, Start, Stretch, Stretches};
pub use json::json;
pub(crate) use page::counted;
pub use page::page;
pub use tolerance::Tolerance;

use crate::rows::{Account, Books, Charged, PreviousWindow, Unread};
use crate::sums::Sums;
use crate::FleetError;
use exactop_recording::TimeRange;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

/// The part of a row of `accounts` that is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AccountsRow {
    pub t1_ns: u64,
    pub length_ns: u64,
    pub end_ns: i64,
    pub capacity_ns: u64,
    pub named_ns: u128,
    /// Hash of all figures of the row.
    pub hash: u64,
    pub quality: RowQuality,
}

/// Errors that a row of `accounts` shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowQuality {
    residual_ns: u64,
    missed_switches: Option<u64>,
    is_open: bool,
    is_inexact: bool,
}

impl RowQuality {
    fn from_row(row: &Account) -> RowQuality {
        RowQuality {
            residual_ns: row.residual_ns.unsigned_abs(),
            missed_switches: row.missed_switches,
            is_open: !row.closes(),
            is_inexact: !row.exact,
        }
    }

    /// Adds the errors of a duplicate: one with other figures must not hide an error.
    fn join(&mut self, other: &RowQuality) {
        self.residual_ns = self.residual_ns.max(other.residual_ns);
        self.missed_switches = self.missed_switches.max(other.missed_switches);
        self.is_open |= other.is_open;
        self.is_inexact |= other.is_inexact;
    }
}

/// Data of a boot of a host.
#[derive(Debug, Default)]
pub(crate) struct Boot {
    pub windows: Vec<AccountsRow>,
    /// Charges by the windows' ends; an end may occur more than once.
    pub charged: Vec<(u64, u128)>,
    /// Entries left after the last merge.
    merged: usize,
    /// Ends of windows that arrived while the books were read.
    pub new: Vec<u64>,
}

/// Rows of charges kept without a merge. Above it, each doubling causes a merge.
const MANY: usize = 4096;

impl Boot {
    fn charge(&mut self, t1_ns: u64, run_ns: u128) {
        match self.charged.last_mut().filter(|(last, _)| *last == t1_ns) {
            Some((_, sum)) => *sum += run_ns,
            None => self.charged.push((t1_ns, run_ns)),
        }
        if self.charged.len() > MANY.max(2 * self.merged) {
            self.merge();
        }
    }

    /// Sums the charges of each end, sorted by time.
    pub fn merge(&mut self) {
        self.charged.sort_unstable_by_key(|(t1_ns, _)| *t1_ns);
        self.charged.dedup_by(|next, first| {
            let same = next.0 == first.0;
            first.1 += if same { next.1 } else { 0 };
            same
        });
        self.merged = self.charged.len();
    }
}

/// Errors that single windows show. A window with duplicates counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Quality {
    /// Windows whose accounts are not CPUs x length.
    pub open: u64,
    pub residual: u64,
    /// Sum of the absolute residuals, ns.
    pub residual_ns: u128,
    /// Windows with missed switches.
    pub missed: u64,
    pub missed_switches: u128,
    /// Windows without a count of missed switches.
    pub without_witness: u64,
    pub inexact: u64,
}

impl Quality {
    fn add(&mut self, window: &RowQuality) {
        self.open += u64::from(window.is_open);
        self.residual += u64::from(window.residual_ns != 0);
        self.residual_ns += u128::from(window.residual_ns);
        let missed = window.missed_switches.unwrap_or(0);
        self.missed += u64::from(missed > 0);
        self.missed_switches += u128::from(missed);
        self.without_witness += u64::from(window.missed_switches.is_none());
        self.inexact += u64::from(window.is_inexact);
    }

    fn and(&mut self, other: &Quality) {
        self.open += other.open;
        self.residual += other.residual;
        self.residual_ns += other.residual_ns;
        self.missed += other.missed;
        self.missed_switches += other.missed_switches;
        self.without_witness += other.without_witness;
        self.inexact += other.inexact;
    }
}

#[derive(Debug, Default)]
pub(crate) struct HostRows {
    pub name: String,
    pub sums: Sums,
    pub boots: Vec<(String, Boot)>,
    /// The last window before the time, and its boot.
    pub before: Option<(String, AccountsRow)>,
}

/// Collects rows.
#[derive(Debug, Default)]
struct Ledgers {
    hosts: Vec<HostRows>,
    places: FxHashMap<String, usize>,
}

impl Ledgers {
    fn host(&mut self, name: &str) -> &mut HostRows {
        let at = match self.places.get(name) {
            Some(&at) => at,
            None => {
                self.places.insert(name.into(), self.hosts.len());
                self.hosts.push(HostRows { name: name.into(), ..HostRows::default() });
                self.hosts.len() - 1
            }
        };
        &mut self.hosts[at]
    }

    fn account(&mut self, row: &Account) {
        let host = self.host(row.whose.host);
        if row.is_new {
            host.boot(row.whose.boot_id).new.push(row.t1_ns);
            return;
        }
        host.sums.add(row);
        host.boot(row.whose.boot_id).windows.push(AccountsRow {
            t1_ns: row.t1_ns,
            length_ns: row.length_ns,
            end_ns: row.end_ns,
            capacity_ns: row.capacity_ns,
            named_ns: row.named_ns(),
            hash: FxBuildHasher.hash_one(row),
            quality: RowQuality::from_row(row),
        });
    }

    fn before(&mut self, row: &PreviousWindow) {
        let host = self.host(row.whose.host);
        if host.before.as_ref().is_none_or(|(_, seen)| seen.end_ns < row.end_ns) {
            let seen =
                AccountsRow { t1_ns: row.t1_ns, end_ns: row.end_ns, ..AccountsRow::default() };
            host.before = Some((row.whose.boot_id.into(), seen));
        }
    }

    fn charge(&mut self, row: &Charged) {
        self.host(row.whose.host).boot(row.whose.boot_id).charge(row.t1_ns, row.run_ns);
    }
}

impl HostRows {
    /// Linear search: a host has few boots.
    fn boot(&mut self, id: &str) -> &mut Boot {
        let at = self.boots.iter().position(|(known, _)| known == id).unwrap_or_else(|| {
            self.boots.push((id.into(), Boot::default()));
            self.boots.len() - 1
        });
        &mut self.boots[at].1
    }
}

/// The balance of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// Hosts with windows in the checked time or before it, by name.
    pub hosts: Vec<Host>,
    /// Sums of all hosts' rows.
    pub sums: Sums,
    /// Quality of all hosts' windows.
    pub quality: Quality,
    /// End of the last window that the hosts agree on, by their wall clocks, ns since the epoch.
    pub ends_ns: Option<i64>,
    /// Files that could not be read and are in no figure.
    pub unread: Vec<Unread>,
}

impl Balance {
    /// True if there is no finding.
    pub fn holds(&self) -> bool {
        self.unread.is_empty() && self.hosts.iter().all(Host::is_well)
    }

    /// Hosts with data in the time.
    pub fn present_hosts(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter().filter(|host| host.windows > 0 || host.stray > 0)
    }

    /// Distinct windows.
    pub fn windows(&self) -> u64 {
        self.hosts.iter().map(|host| host.windows).sum()
    }
}

/// Reads all rows of a time and compares them with each other and with the last window before.
/// `now_ns`: current time, ns since the epoch.
///
/// # Errors
/// [`FleetError`]: the books cannot be read.
pub fn check(
    books: &dyn Books,
    when: TimeRange,
    tolerance: &Tolerance,
    now_ns: i128,
) -> Result<Balance, FleetError> {
    let mut ledgers = Ledgers::default();
    books.charges(when, &mut |row| ledgers.charge(&row))?;
    books.accounts(when, &mut |row| ledgers.account(&row))?;
    if let Some(from) = when.from {
        books.before(from, &mut |row| ledgers.before(&row))?;
    }
    Ok(Balance { unread: books.unread(), ..balance(ledgers, tolerance, now_ns) })
}

fn balance(ledgers: Ledgers, tolerance: &Tolerance, now_ns: i128) -> Balance {
    let mut balance = Balance::default();
    for gathered in ledgers.hosts {
        let host = Host::from_rows(gathered, tolerance.silent);
        balance.sums.and(&host.sums);
        balance.quality.and(&host.quality);
        balance.hosts.push(host);
    }
    // A host with only new windows does not count yet.
    let is_known = |host: &Host| host.windows > 0 || host.stray > 0 || host.absent_ns.is_some();
    balance.hosts.retain(is_known);
    balance.hosts.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    balance.ends_ns = clocks::judge(&mut balance.hosts, tolerance, now_ns);
    balance
}

#[cfg(test)]
mod tests;
