//! Whether a fleet's books balance: each window of each host once and all of it, and sums that come out.
//!
//! A window is told by host, boot and its end by CLOCK_MONOTONIC, which no clock that is set changes. All of them are
//! kept until the end, 96 bytes each, because rows come in no order.

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

use crate::rows::{Account, Before, Books, Charged, Unread};
use crate::sums::Sums;
use crate::FleetError;
use exactop_recording::When;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

/// A row of `accounts`, as far as it is held against others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub t1_ns: u64,
    pub length_ns: u64,
    pub end_ns: i64,
    pub capacity_ns: u64,
    pub named_ns: u128,
    /// Of all figures of the row.
    pub hash: u64,
}

/// What is known of a boot of a host.
#[derive(Debug, Default)]
pub(crate) struct Boot {
    pub windows: Vec<Seen>,
    /// By the windows' ends; one of them may be in it more than once.
    pub charged: Vec<(u64, u128)>,
    /// As many were left when they were merged last.
    merged: usize,
    /// Ends of windows that came while the books were read.
    pub new: Vec<u64>,
}

/// More rows of charges than these are merged, once there are twice as many.
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

    /// Leaves each end once, in the order of time.
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

/// What rows say by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Quality {
    /// Windows whose accounts are not CPUs x length.
    pub open: u64,
    pub residual: u64,
    /// Without their signs, so that two do not hide each other.
    pub residual_ns: u128,
    /// Windows in which switches were missed, and how many.
    pub missed: u64,
    pub missed_switches: u128,
    /// Windows without that witness.
    pub without_witness: u64,
    pub inexact: u64,
}

impl Quality {
    fn add(&mut self, row: &Account) {
        self.open += u64::from(!row.closes());
        self.residual += u64::from(row.residual_ns != 0);
        self.residual_ns += u128::from(row.residual_ns.unsigned_abs());
        let missed = row.missed_switches.unwrap_or(0);
        self.missed += u64::from(missed > 0);
        self.missed_switches += u128::from(missed);
        self.without_witness += u64::from(row.missed_switches.is_none());
        self.inexact += u64::from(!row.exact);
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

/// All that was told of a host.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub name: String,
    pub sums: Sums,
    pub quality: Quality,
    pub boots: Vec<(String, Boot)>,
    /// The last window before the time that is read, and its boot.
    pub before: Option<(String, Seen)>,
}

/// Rows, as they come.
#[derive(Debug, Default)]
struct Ledgers {
    hosts: Vec<Gathered>,
    places: FxHashMap<String, usize>,
}

impl Ledgers {
    fn host(&mut self, name: &str) -> &mut Gathered {
        let at = match self.places.get(name) {
            Some(&at) => at,
            None => {
                self.places.insert(name.into(), self.hosts.len());
                self.hosts.push(Gathered { name: name.into(), ..Gathered::default() });
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
        host.quality.add(row);
        host.boot(row.whose.boot_id).windows.push(Seen {
            t1_ns: row.t1_ns,
            length_ns: row.length_ns,
            end_ns: row.end_ns,
            capacity_ns: row.capacity_ns,
            named_ns: row.named_ns(),
            hash: FxBuildHasher.hash_one(row),
        });
    }

    fn before(&mut self, row: &Before) {
        let host = self.host(row.whose.host);
        if host.before.as_ref().is_none_or(|(_, seen)| seen.end_ns < row.end_ns) {
            let seen = Seen { t1_ns: row.t1_ns, end_ns: row.end_ns, ..Seen::default() };
            host.before = Some((row.whose.boot_id.into(), seen));
        }
    }

    fn charge(&mut self, row: &Charged) {
        self.host(row.whose.host).boot(row.whose.boot_id).charge(row.t1_ns, row.run_ns);
    }
}

impl Gathered {
    /// Hosts have few.
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
    /// All hosts that have windows in that time, or before it, by name.
    pub hosts: Vec<Host>,
    /// All hosts' rows.
    pub sums: Sums,
    /// The same.
    pub quality: Quality,
    /// The end of the last window that the hosts agree on, by their wall clocks.
    pub ends_ns: Option<i64>,
    /// What could not be read, and is in nothing of this.
    pub unread: Vec<Unread>,
}

impl Balance {
    /// Whether there is nothing to say.
    pub fn holds(&self) -> bool {
        self.unread.is_empty() && self.hosts.iter().all(Host::is_well)
    }

    /// Hosts that have anything in that time.
    pub fn there(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter().filter(|host| host.windows > 0 || host.stray > 0)
    }

    /// Windows, each once.
    pub fn windows(&self) -> u64 {
        self.hosts.iter().map(|host| host.windows).sum()
    }
}

/// Reads all rows of a time and holds them against each other, and against the last window before. `now_ns`: what the time is, ns since the epoch.
///
/// # Errors
/// [`FleetError`]: they cannot be read.
pub fn check(
    books: &dyn Books,
    when: When,
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
        let host = Host::of(gathered, tolerance.silent);
        balance.sums.and(&host.sums);
        balance.quality.and(&host.quality);
        balance.hosts.push(host);
    }
    // Whoever has nothing but what is new is nobody yet.
    let is_known = |host: &Host| host.windows > 0 || host.stray > 0 || host.absent_ns.is_some();
    balance.hosts.retain(is_known);
    balance.hosts.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    balance.ends_ns = clocks::judge(&mut balance.hosts, tolerance, now_ns);
    balance
}

#[cfg(test)]
mod tests;
