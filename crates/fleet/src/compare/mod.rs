//! Where the difference between two stretches of many machines' time went, as [`exactop_sums`] says it of one machine.
//!
//! Sums are of all hosts, to the nanosecond. What is beyond noise is weighed over hosts, never over windows: what was
//! changed is a host, windows of one host are alike, and one large host is no evidence. Means, not sums, as
//! `crates/fleet/queries/rollout.sql` has it, and not for each group by itself, but for all rows together.

mod basis;
mod json;
mod page;
mod side;

pub use basis::{Basis, Kind};
pub use json::json;
pub use page::page;
pub use side::{Host, Side, Total};

use crate::By;
use exactop_report::statistics::Apart;
use exactop_sums::{Change, Least};
use std::collections::BTreeMap;

/// So many rows are weighed, those with the most time on both sides together.
const WEIGHED: usize = 300;
/// What decides how hosts are dealt out: the same books give the same answer.
const SEED: u64 = 1;

/// What a host's CPU time is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// The CPU time that the host had: per cent of its CPUs.
    Cpu,
    /// Elapsed time: per cent of one CPU.
    Wall,
}

impl Per {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Per::Cpu => "cpu",
            Per::Wall => "wall",
        }
    }

    /// The unit of what comes out.
    pub const fn unit(self) -> &'static str {
        match self {
            Per::Cpu => "per cent of a host's CPUs, means over hosts",
            Per::Wall => "per cent of one CPU of a host, means over hosts",
        }
    }

    fn of(self, run_ns: u128, host: &Host) -> f64 {
        let all = match self {
            Per::Cpu => host.capacity_ns,
            Per::Wall => host.length_ns,
        };
        100.0 * run_ns as f64 / all as f64
    }
}

/// How two stretches are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// What time is divided by.
    pub per: Per,
    /// Changes that come to less are noise.
    pub least: Least,
    /// Text in the names of the hosts on which something was changed; the others say what changed everywhere.
    pub changed: Option<String>,
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Who, empty where it is in no such thing; `None`: time without a name.
    pub name: Option<String>,
    /// What became of it, all hosts together.
    pub change: Change,
    /// Its CPU time in the first stretch, of all hosts.
    pub a_ns: u128,
    /// In the second.
    pub b_ns: u128,
    /// The change, exactly.
    pub delta_ns: i128,
    /// By the measure, the mean of the hosts that are weighed; `None`: there are none.
    pub a: Option<f64>,
    /// In the second.
    pub b: Option<f64>,
    /// Hosts on which it has a row, on either side.
    pub hosts: (u64, u64),
    /// By the measure: the mean change of a host, and where that may lie. `None`: too few hosts, or it was not weighed.
    pub apart: Option<Apart>,
}

impl Row {
    /// The mean change of a host by the measure.
    pub fn change_by_measure(&self) -> Option<f64> {
        let apart = self.apart.map(|apart| apart.difference);
        apart.or_else(|| self.b.zip(self.a).map(|(b, a)| b - a))
    }

    /// Whether it differs beyond noise.
    pub fn is_beyond(&self) -> bool {
        self.apart.is_some_and(|apart| apart.beyond)
    }

    fn weighed(&mut self, mut apart: Apart, one_cpu_pct: f64, least: Least) {
        let larger = self.a.unwrap_or(0.0).max(self.b.unwrap_or(0.0));
        apart.beyond &= one_cpu_pct.abs() >= least.of_cpu_pct;
        apart.beyond &= apart.difference.abs() * 100.0 >= larger * least.of_row_pct;
        self.apart = Some(apart);
        // What is said to have grown is what is shown as larger.
        if matches!(self.change, Change::Grew | Change::Shrank) {
            self.change = Change::of_sign(apart.difference);
        }
    }
}

/// What can be said of all rows together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There are too few hosts to tell a difference from noise.
    TooFewHosts,
    /// Of the rows that were weighed none differs.
    NothingBeyondNoise,
    /// So many do.
    BeyondNoise(usize),
}

impl Verdict {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::TooFewHosts => "too_few_hosts",
            Verdict::NothingBeyondNoise => "nothing_beyond_noise",
            Verdict::BeyondNoise(_) => "beyond_noise",
        }
    }
}

/// Two stretches, compared.
#[derive(Clone, Debug)]
pub struct Difference {
    /// What rows stand for.
    pub by: By,
    /// How they are compared.
    pub measure: Measure,
    /// Which hosts are weighed.
    pub basis: Basis,
    /// The first stretch.
    pub a: Side,
    /// The second.
    pub b: Side,
    /// Rows with a name: first those that differ beyond noise, of each what grew before what shrank, the largest change
    /// first.
    pub rows: Vec<Row>,
    /// Time without a name.
    pub unnamed: Row,
}

impl Difference {
    /// Compares; both are by the same.
    pub fn of(a: Side, b: Side, measure: Measure) -> Difference {
        let basis = Basis::of(&a, &b, measure.changed.as_deref());
        let pairs = pairs(&a, &b);
        let means =
            (basis.means(&a, &basis.a, measure.per), basis.means(&b, &basis.b, measure.per));
        let row = |at: usize| {
            let (name, in_a, in_b) = &pairs[at];
            let of = |side: &Side, number: &Option<u32>| match (name, number) {
                (None, _) => (side.sums.unnamed_ns, side.hosts.len() as u64),
                (_, Some(number)) => {
                    let total = &side.rows[*number as usize];
                    (total.run_ns, total.hosts)
                }
                _ => (0, 0),
            };
            let mean = |means: &Option<basis::Means>, number| {
                means.as_ref().map(|means| means.of(name.is_none(), number))
            };
            let figures = (mean(&means.0, *in_a), mean(&means.1, *in_b));
            row(name.clone(), (of(&a, in_a), of(&b, in_b)), figures)
        };
        let mut rows: Vec<Row> = (0..pairs.len()).map(row).collect();
        let numbers: Vec<_> = pairs.iter().map(|(_, in_a, in_b)| (*in_a, *in_b)).collect();
        let weighed = &numbers[..numbers.len().min(WEIGHED + 1)];
        let found = basis.weighed((&a, &b), weighed, measure.per, SEED).unwrap_or_default();
        for (row, apart) in rows.iter_mut().zip(found) {
            let one_cpu_pct = basis.of_one_cpu_pct(apart.difference, &b, measure.per);
            row.weighed(apart, one_cpu_pct, measure.least);
        }
        let unnamed = rows.remove(0);
        rows.retain(|row| row.a_ns > 0 || row.b_ns > 0);
        rows.sort_by(|x, y| rank(x).cmp(&rank(y)).then_with(|| larger(x, y)));
        Difference { by: a.by, measure, basis, a, b, rows, unnamed }
    }

    /// All rows, unnamed time included.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().chain([&self.unnamed])
    }

    /// Rows that differ beyond noise, unnamed time included.
    pub fn beyond(&self) -> impl Iterator<Item = &Row> {
        self.all().filter(|row| row.is_beyond())
    }

    /// What can be said of them.
    pub fn verdict(&self) -> Verdict {
        match (self.basis.can_tell(), self.beyond().count()) {
            (false, _) => Verdict::TooFewHosts,
            (true, 0) => Verdict::NothingBeyondNoise,
            (true, n) => Verdict::BeyondNoise(n),
        }
    }

    /// The change of an account.
    pub fn delta(&self, of: impl Fn(&Side) -> u128) -> i128 {
        less(of(&self.b), of(&self.a))
    }
}

/// A name, and which row of each side it is; no name is time without one.
type Pair = (Option<String>, Option<u32>, Option<u32>);

/// Time without a name, then all names, those with the most time on both sides together first: that says nothing about
/// their difference.
fn pairs(a: &Side, b: &Side) -> Vec<Pair> {
    let mut places: BTreeMap<&str, (Option<u32>, Option<u32>)> = BTreeMap::new();
    for (number, row) in (0..).zip(&a.rows) {
        places.entry(&row.name).or_default().0 = Some(number);
    }
    for (number, row) in (0..).zip(&b.rows) {
        places.entry(&row.name).or_default().1 = Some(number);
    }
    let of = |side: &Side, number: Option<u32>| {
        number.map_or(0, |number| side.rows[number as usize].run_ns)
    };
    let mut named: Vec<Pair> =
        places.into_iter().map(|(name, (a, b))| (Some(name.to_string()), a, b)).collect();
    named.sort_by_key(|(_, in_a, in_b)| std::cmp::Reverse(of(a, *in_a) + of(b, *in_b)));
    named.insert(0, (None, None, None));
    named
}

fn less(b: u128, a: u128) -> i128 {
    b.wrapping_sub(a) as i128
}

fn row(
    name: Option<String>,
    ((a_ns, hosts_a), (b_ns, hosts_b)): ((u128, u64), (u128, u64)),
    (a, b): (Option<f64>, Option<f64>),
) -> Row {
    let delta_ns = less(b_ns, a_ns);
    let change = match (a_ns, b_ns) {
        (0, 0) => Change::Same,
        (0, _) => Change::Came,
        (_, 0) => Change::Went,
        // Stretches need not be equally long.
        _ => Change::of_sign(b.zip(a).map_or(delta_ns as f64, |(b, a)| b - a)),
    };
    Row { name, change, a_ns, b_ns, delta_ns, a, b, hosts: (hosts_a, hosts_b), apart: None }
}

/// What comes first.
fn rank(row: &Row) -> (bool, bool) {
    (!row.is_beyond(), !matches!(row.change, Change::Came | Change::Grew))
}

/// The larger change first.
fn larger(x: &Row, y: &Row) -> std::cmp::Ordering {
    let size = |row: &Row| row.change_by_measure().map_or(0.0, f64::abs);
    let by_time = y.delta_ns.unsigned_abs().cmp(&x.delta_ns.unsigned_abs());
    size(y).total_cmp(&size(x)).then(by_time).then_with(|| x.name.cmp(&y.name))
}

#[cfg(test)]
mod tests;
