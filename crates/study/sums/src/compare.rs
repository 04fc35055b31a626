//! Compares two time ranges, row by row.

use crate::group::Group;
use crate::measure::Per;
use crate::pairs::{changes, PairChange};
use crate::slots::{at_most, Slot, Sum};
use crate::stretch::{Stretch, Total};
use exactop_model::owner::Grouping;
use exactop_report::statistics::{apart, Separation, FEWEST};
use std::collections::BTreeMap;

/// Most pieces of a side that are compared. Adjacent windows are similar, so more pieces would not
/// add evidence.
const PIECES: usize = 24;
/// Most rows that are tested. They are the rows with the most time on both sides together.
const WEIGHED: usize = 300;
/// Smallest change that counts as more than noise. Adjacent windows do not show slow variation
/// (placement of pages, speed of the machine). Without a limit, the smallest change of a steady row
/// would exceed its noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Least {
    /// Per cent of one CPU.
    pub of_cpu_pct: f64,
    /// Per cent of the row on the side where it is larger.
    pub of_row_pct: f64,
}

impl Least {
    /// The default.
    pub const USUAL: Least = Least { of_cpu_pct: 0.2, of_row_pct: 3.0 };
}
/// Seed of the permutations: the same recordings give the same result.
const SEED: u64 = 1;

/// Direction of a row's change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Change {
    /// New: it was not there before.
    Came,
    /// More.
    Grew,
    /// Equal.
    Same,
    /// Less.
    Shrank,
    /// Gone: it is not there any more.
    Went,
}

impl Change {
    /// Direction of a change of a row that is on both sides.
    pub fn of_sign(difference: f64) -> Change {
        match difference {
            more if more > 0.0 => Change::Grew,
            less if less < 0.0 => Change::Shrank,
            _ => Change::Same,
        }
    }

    /// Word for the direction.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The group; `None` for unnamed time.
    pub group: Option<Group>,
    /// Direction of the change.
    pub change: Change,
    /// CPU time in the first range, ns.
    pub a_ns: u64,
    /// CPU time in the second range, ns.
    pub b_ns: u64,
    /// Exact change, ns.
    pub delta_ns: i64,
    /// Figure in the first range, by the measure; `None` if its divisor is 0.
    pub a: Option<f64>,
    /// Figure in the second range.
    pub b: Option<f64>,
    /// Difference between the windows of both sides by the measure, with its confidence interval.
    /// `None` if there are too few windows or the row was not tested.
    pub apart: Option<Separation>,
}

impl Row {
    /// The change by the measure: for a tested row, the mean over its pieces of time; else over all
    /// the time.
    pub fn change_by_measure(&self) -> Option<f64> {
        if let Some(apart) = self.apart {
            return Some(apart.difference);
        }
        match self.change {
            Change::Came => self.b,
            Change::Went => self.a.map(|a| -a),
            _ => self.b.zip(self.a).map(|(b, a)| b - a),
        }
    }

    /// The larger of the two figures.
    fn larger(&self) -> f64 {
        self.a.unwrap_or(0.0).max(self.b.unwrap_or(0.0))
    }

    /// True if the change exceeds noise.
    pub(crate) fn is_beyond(&self) -> bool {
        self.apart.is_some_and(|apart| apart.beyond)
    }

    /// Sets the test's result; the direction must agree with the displayed figures.
    fn weighed(&mut self, apart: Separation) {
        self.apart = Some(apart);
        if matches!(self.change, Change::Grew | Change::Shrank) {
            self.change = Change::of_sign(apart.difference);
        }
    }
}

/// Result for all rows together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Verdict {
    /// A side has too few windows to tell a difference from noise.
    TooFewWindows,
    /// No row has a figure in every piece of time of both sides.
    NothingWeighed,
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
    /// How rows are measured.
    pub per: Per,
    /// Smaller changes count as noise.
    pub least: Least,
    /// The first range.
    pub a: Stretch,
    /// The second range.
    pub b: Stretch,
    /// Rows with a name: first those that exceed noise; in each part what grew before what shrank,
    /// the largest change first.
    pub rows: Vec<Row>,
    /// Unnamed time.
    pub unnamed: Row,
}

impl Difference {
    /// Compares two ranges that are summed in the same way. Changes below [`Least::USUAL`] are
    /// noise.
    pub fn between(a: Stretch, b: Stretch, per: Per) -> Difference {
        Difference::from_least(a, b, per, Least::USUAL)
    }

    /// Compares two ranges; changes below `least` are noise.
    pub fn from_least(mut a: Stretch, mut b: Stretch, per: Per, least: Least) -> Difference {
        // If one side lacks separate interrupt time, add the other side's to its tasks.
        if a.accounts.irq_ns().is_none() || b.accounts.irq_ns().is_none() {
            [&mut a, &mut b].into_iter().for_each(Stretch::fold_irq);
        }
        if a.accounts.steal_ns().is_none() || b.accounts.steal_ns().is_none() {
            [&mut a, &mut b].into_iter().for_each(Stretch::fold_steal);
        }
        let pairs = pairs(&a, &b);
        let sides = (Side::from_stretch(&a, per), Side::from_stretch(&b, per));
        let unnamed = row(None, (&a, None), (&b, None), per);
        let of = |pair: &Pair| row(Some(&pair.group), (&a, pair.in_a), (&b, pair.in_b), per);
        let rows = pairs.iter().map(of).collect();
        let mut difference = Difference { by: a.by, per, least, rows, unnamed, a, b };
        difference.weigh(&pairs, &sides);
        difference.rows.retain(|row| row.a_ns > 0 || row.b_ns > 0);
        difference.rows.sort_by(|x, y| rank(x).cmp(&rank(y)).then_with(|| larger(x, y)));
        difference
    }

    /// Tests the largest rows and unnamed time.
    fn weigh(&mut self, pairs: &[Pair], (a, b): &(Side, Side)) {
        let mut figures = vec![(a.unnamed(), b.unnamed())];
        let mut places = vec![None];
        for (at, pair) in pairs.iter().enumerate().take(WEIGHED) {
            figures.push((a.row(pair.in_a), b.row(pair.in_b)));
            places.push(Some(at));
        }
        // A row whose divisor is 0 in some piece cannot be tested.
        let known = |side: &Option<Vec<f64>>| side.is_some();
        let kept = figures.into_iter().zip(places).filter(|((a, b), _)| known(a) && known(b));
        let (figures, places): (Vec<_>, Vec<_>) =
            kept.filter_map(|((a, b), place)| Some(((a?, b?), place))).unzip();
        let Some(found) = apart(&figures, SEED) else { return };
        for (place, mut found) in places.into_iter().zip(found) {
            let in_b = place.and_then(|at| pairs[at].in_b);
            let work = in_b.map_or(0, |number| self.b.rows[number as usize].sum.work);
            let pct =
                self.per.of_one_cpu_pct(found.difference, work, &self.b.accounts, self.b.length_ns);
            let row = match place {
                None => &mut self.unnamed,
                Some(at) => &mut self.rows[at],
            };
            found.beyond &= pct.is_none_or(|pct| pct.abs() >= self.least.of_cpu_pct);
            found.beyond &= found.difference.abs() * 100.0 >= row.larger() * self.least.of_row_pct;
            row.weighed(found);
        }
    }

    /// Pairs of victims and culprits of both sides, the largest change per second first; `None`
    /// unless both sides have a blame book.
    pub fn pairs(&self) -> Option<Vec<PairChange>> {
        Some(changes([self.a.pairs.as_ref()?, self.b.pairs.as_ref()?]))
    }

    /// True if there are enough windows to tell a difference from noise.
    pub fn can_tell(&self) -> bool {
        self.a.slots.len() >= FEWEST && self.b.slots.len() >= FEWEST
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
        // Unnamed time is always tested, but does not count if there is none.
        let weighed = self.all().any(|row| row.apart.is_some() && (row.a_ns > 0 || row.b_ns > 0));
        match (self.can_tell(), weighed, self.beyond().count()) {
            (false, ..) => Verdict::TooFewWindows,
            (true, false, _) => Verdict::NothingWeighed,
            (true, true, 0) => Verdict::NothingBeyondNoise,
            (true, true, n) => Verdict::BeyondNoise(n),
        }
    }

    /// The change of an account, ns.
    pub fn delta(&self, of: impl Fn(&Stretch) -> u64) -> i64 {
        less(of(&self.b), of(&self.a))
    }

    /// The change of an account that both sides must measure, ns.
    pub fn delta_if_measured(&self, of: impl Fn(&Stretch) -> Option<u64>) -> Option<i64> {
        Some(less(of(&self.b)?, of(&self.a)?))
    }
}

/// Pieces of a side that are compared.
struct Side {
    per: Per,
    slots: Vec<Slot>,
}

impl Side {
    fn from_stretch(stretch: &Stretch, per: Per) -> Side {
        Side { per, slots: at_most(&stretch.slots, PIECES) }
    }

    fn figures(&self, sum: impl Fn(&Slot) -> Sum) -> Option<Vec<f64>> {
        let of = |slot: &Slot| self.per.figure(&sum(slot), &slot.accounts, slot.length_ns);
        self.slots.iter().map(of).collect()
    }

    /// Figures of a row; 0 for a missing row.
    fn row(&self, number: Option<u32>) -> Option<Vec<f64>> {
        let of = |slot: &Slot| number.and_then(|number| slot.rows.get(&number)).copied();
        self.figures(|slot| of(slot).map_or(Sum::default(), |sum| sum))
    }

    fn unnamed(&self) -> Option<Vec<f64>> {
        let sum = |slot: &Slot| Sum { run_ns: slot.accounts.unnamed_ns, ..Sum::default() };
        self.figures(sum)
    }
}

/// A group, and its row number on each side.
struct Pair {
    group: Group,
    in_a: Option<u32>,
    in_b: Option<u32>,
}

/// All groups by their time on both sides together. This order does not depend on their difference.
fn pairs(a: &Stretch, b: &Stretch) -> Vec<Pair> {
    let mut pairs: BTreeMap<&Group, (Option<u32>, Option<u32>)> = BTreeMap::new();
    for (number, row) in (0..).zip(&a.rows) {
        pairs.entry(&row.group).or_default().0 = Some(number);
    }
    for (number, row) in (0..).zip(&b.rows) {
        pairs.entry(&row.group).or_default().1 = Some(number);
    }
    let pair = |(group, (in_a, in_b)): (&Group, _)| Pair { group: group.clone(), in_a, in_b };
    let mut pairs: Vec<Pair> = pairs.into_iter().map(pair).collect();
    let both = |pair: &Pair| run_of(&a.rows, pair.in_a) + run_of(&b.rows, pair.in_b);
    pairs.sort_by_key(|pair| std::cmp::Reverse(both(pair)));
    pairs
}

fn run_of(rows: &[Total], number: Option<u32>) -> u64 {
    number.map_or(0, |number| rows[number as usize].sum.run_ns)
}

fn less(b: u64, a: u64) -> i64 {
    b.wrapping_sub(a) as i64
}

fn row(
    group: Option<&Group>,
    (a, in_a): (&Stretch, Option<u32>),
    (b, in_b): (&Stretch, Option<u32>),
    per: Per,
) -> Row {
    let sum = |stretch: &Stretch, number: Option<u32>| match (group, number) {
        (None, _) => Sum { run_ns: stretch.accounts.unnamed_ns, ..Sum::default() },
        (_, Some(number)) => stretch.rows[number as usize].sum,
        _ => Sum::default(),
    };
    let (in_a, in_b) = (sum(a, in_a), sum(b, in_b));
    let (a_ns, b_ns) = (in_a.run_ns, in_b.run_ns);
    let (by_a, by_b) =
        (per.figure(&in_a, &a.accounts, a.length_ns), per.figure(&in_b, &b.accounts, b.length_ns));
    let change = match (a_ns, b_ns) {
        (0, 0) => Change::Same,
        (0, _) => Change::Came,
        (_, 0) => Change::Went,
        // The measure decides, because the ranges may differ in length.
        _ => Change::of_sign(by_b.zip(by_a).map_or(less(b_ns, a_ns) as f64, |(b, a)| b - a)),
    };
    let delta_ns = less(b_ns, a_ns);
    Row { group: group.cloned(), change, a_ns, b_ns, delta_ns, a: by_a, b: by_b, apart: None }
}

/// Order of kinds of rows.
fn rank(row: &Row) -> (bool, bool) {
    (!row.is_beyond(), !matches!(row.change, Change::Came | Change::Grew))
}

/// Order within a kind: the larger change first.
fn larger(x: &Row, y: &Row) -> std::cmp::Ordering {
    let size = |row: &Row| row.change_by_measure().map_or(0.0, f64::abs);
    let by_time = y.delta_ns.unsigned_abs().cmp(&x.delta_ns.unsigned_abs());
    size(y).total_cmp(&size(x)).then(by_time)
}
