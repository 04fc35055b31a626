//! Compares two ranges of many machines' time, as [`exactop_sums`] compares those of one machine.
//!
//! Sums are over all hosts, to the nanosecond. Noise is estimated over hosts, never over windows: a
//! change affects hosts, windows of one host resemble each other, and one large host proves
//! nothing. The figures are means, not sums, as in `crates/fleet/queries/rollout.sql`, but tested
//! for all rows together.

mod basis;
mod json;
mod page;
mod side;

pub use basis::{Basis, BasisKind};
pub use json::json;
pub use page::page;
pub use side::{Host, Side, Total};

use crate::Grouping;
use exactop_report::statistics::Separation;
use exactop_sums::{Change, Least};
use std::collections::BTreeMap;

/// Most rows that are tested: those with the most time on both sides together.
const WEIGHED: usize = 300;
/// Seed of the permutations: the same books give the same result.
const SEED: u64 = 1;

/// Divisor of a host's CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Per {
    /// The host's available CPU time: per cent of its CPUs.
    Cpu,
    /// Elapsed time: per cent of one CPU.
    Wall,
}

impl Per {
    /// Name of the divisor.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Unit of the figures.
    pub const fn unit(self) -> &'static str {
        match self {
            Per::Cpu => "per cent of a host's CPUs, means over hosts",
            Per::Wall => "per cent of one CPU of a host, means over hosts",
        }
    }

    fn percent(self, run_ns: u128, host: &Host) -> f64 {
        let all = match self {
            Per::Cpu => host.capacity_ns,
            Per::Wall => host.length_ns,
        };
        100.0 * run_ns as f64 / all as f64
    }
}

/// How two ranges are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// Divisor of CPU time.
    pub per: Per,
    /// Smallest relevant change; smaller ones count as noise.
    pub least: Least,
    /// Text in the names of the changed hosts; the other hosts show what changed everywhere.
    pub changed: Option<String>,
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Name, empty if the row has none; `None` for unnamed time.
    pub name: Option<String>,
    /// Direction of the change, over all hosts.
    pub change: Change,
    /// CPU time in the first range, over all hosts, ns.
    pub a_ns: u128,
    /// CPU time in the second range, over all hosts, ns.
    pub b_ns: u128,
    /// Exact change, ns.
    pub delta_ns: i128,
    /// Mean of the compared hosts in the first range, by the measure; `None` without hosts.
    pub a: Option<f64>,
    /// The same mean in the second range.
    pub b: Option<f64>,
    /// Hosts with this row, in the first and second range.
    pub hosts: (u64, u64),
    /// Mean change of a host by the measure, and its confidence interval. `None` if there are too
    /// few hosts or the row was not tested.
    pub apart: Option<Separation>,
}

impl Row {
    /// Mean change of a host by the measure.
    pub fn change_by_measure(&self) -> Option<f64> {
        let apart = self.apart.map(|apart| apart.difference);
        apart.or_else(|| self.b.zip(self.a).map(|(b, a)| b - a))
    }

    /// True if the change exceeds noise.
    pub fn is_beyond(&self) -> bool {
        self.apart.is_some_and(|apart| apart.beyond)
    }

    fn weighed(&mut self, mut apart: Separation, one_cpu_pct: f64, least: Least) {
        let larger = self.a.unwrap_or(0.0).max(self.b.unwrap_or(0.0));
        apart.beyond &= one_cpu_pct.abs() >= least.of_cpu_pct;
        apart.beyond &= apart.difference.abs() * 100.0 >= larger * least.of_row_pct;
        self.apart = Some(apart);
        // The direction must agree with the displayed means.
        if matches!(self.change, Change::Grew | Change::Shrank) {
            self.change = Change::of_sign(apart.difference);
        }
    }
}

/// Result for all rows together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Verdict {
    /// Too few hosts to tell a difference from noise.
    TooFewHosts,
    /// No tested row exceeds noise.
    NothingBeyondNoise,
    /// Number of rows whose change exceeds noise.
    BeyondNoise(usize),
}

impl Verdict {
    /// Name of the verdict.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Two ranges, compared.
#[derive(Clone, Debug)]
pub struct Difference {
    /// How rows are summed.
    pub by: Grouping,
    /// How the ranges are compared.
    pub measure: Measure,
    /// The hosts that are compared.
    pub basis: Basis,
    /// The first range.
    pub a: Side,
    /// The second range.
    pub b: Side,
    /// Rows with a name: first those that exceed noise; in each part what grew before what shrank,
    /// the largest change first.
    pub rows: Vec<Row>,
    /// Unnamed time.
    pub unnamed: Row,
}

impl Difference {
    /// Compares two sides that are summed in the same way.
    pub fn between(a: Side, b: Side, measure: Measure) -> Difference {
        let basis = Basis::choose(&a, &b, measure.changed.as_deref());
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
                means.as_ref().map(|means| means.mean(name.is_none(), number))
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

    /// All rows, including unnamed time.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().chain([&self.unnamed])
    }

    /// Rows that exceed noise, including unnamed time.
    pub fn beyond(&self) -> impl Iterator<Item = &Row> {
        self.all().filter(|row| row.is_beyond())
    }

    /// Result for all rows together.
    pub fn verdict(&self) -> Verdict {
        match (self.basis.can_tell(), self.beyond().count()) {
            (false, _) => Verdict::TooFewHosts,
            (true, 0) => Verdict::NothingBeyondNoise,
            (true, n) => Verdict::BeyondNoise(n),
        }
    }

    /// The change of an account, ns.
    pub fn delta(&self, of: impl Fn(&Side) -> u128) -> i128 {
        less(of(&self.b), of(&self.a))
    }
}

/// A name, and its row number on each side; no name stands for unnamed time.
type Pair = (Option<String>, Option<u32>, Option<u32>);

/// Unnamed time, then all names by their time on both sides together. This order does not depend on
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
        // The ranges may differ in length.
        _ => Change::of_sign(b.zip(a).map_or(delta_ns as f64, |(b, a)| b - a)),
    };
    Row { name, change, a_ns, b_ns, delta_ns, a, b, hosts: (hosts_a, hosts_b), apart: None }
}

/// Order of kinds of rows.
fn rank(row: &Row) -> (bool, bool) {
    (!row.is_beyond(), !matches!(row.change, Change::Came | Change::Grew))
}

/// Order within a kind: the larger change first.
fn larger(x: &Row, y: &Row) -> std::cmp::Ordering {
    let size = |row: &Row| row.change_by_measure().map_or(0.0, f64::abs);
    let by_time = y.delta_ns.unsigned_abs().cmp(&x.delta_ns.unsigned_abs());
    size(y).total_cmp(&size(x)).then(by_time).then_with(|| x.name.cmp(&y.name))
}

#[cfg(test)]
mod tests;
