//! Selects the hosts that are compared, and computes how far apart they are.

use super::{Host, Per, Side};
use exactop_report::statistics::{apart, changed, Separation, FEWEST, FEWEST_PAIRS};
use rustc_hash::FxHashMap;

/// Kind of comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum BasisKind {
    /// Each host that is in both ranges with itself.
    Pairs,
    /// The hosts of one side with those of the other.
    Sides,
    /// The change of the changed hosts with the change of the others.
    Rollout,
}

impl BasisKind {
    /// Name of the kind.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The hosts that are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Basis {
    /// Kind of comparison.
    pub kind: BasisKind,
    /// Indices of hosts in the first range; of a rollout, the changed ones.
    pub(super) a: Vec<u32>,
    /// Indices of hosts in the second range; except for sides, in the order of `a`.
    pub(super) b: Vec<u32>,
    /// The unchanged hosts of a rollout, as pairs.
    pub(super) others: Vec<(u32, u32)>,
}

impl Basis {
    /// Matches hosts by name. If at least half of the smaller side is in both, only those hosts are
    /// compared, each with itself.
    pub(super) fn choose(a: &Side, b: &Side, changed: Option<&str>) -> Basis {
        let places: FxHashMap<&str, u32> = counted(b).map(|(at, host)| (&*host.name, at)).collect();
        let in_both = counted(a).filter_map(|(at, host)| Some((at, *places.get(&*host.name)?)));
        let pairs: Vec<(u32, u32)> = in_both.collect();
        if let Some(text) = changed {
            let is = |pair: &&(u32, u32)| a.hosts[pair.0 as usize].name.contains(text);
            let (of, others): (Vec<_>, Vec<_>) = pairs.iter().partition(is);
            let (a, b) = of.into_iter().unzip();
            return Basis { kind: BasisKind::Rollout, a, b, others };
        }
        let smaller = counted(a).count().min(counted(b).count());
        let (kind, (a, b)) = match 2 * pairs.len() >= smaller {
            true => (BasisKind::Pairs, pairs.into_iter().unzip()),
            false => {
                let all = |side: &Side| counted(side).map(|(at, _)| at).collect::<Vec<_>>();
                (BasisKind::Sides, (all(a), all(b)))
            }
        };
        Basis { kind, a, b, others: Vec::new() }
    }

    /// Numbers of hosts that are compared.
    pub fn hosts(&self) -> (usize, usize) {
        match self.kind {
            BasisKind::Rollout => (self.a.len(), self.others.len()),
            _ => (self.a.len(), self.b.len()),
        }
    }

    /// Fewest hosts needed on each side.
    pub fn fewest(&self) -> usize {
        match self.kind {
            BasisKind::Pairs => FEWEST_PAIRS,
            BasisKind::Sides | BasisKind::Rollout => FEWEST,
        }
    }

    /// True if there are enough hosts.
    pub fn can_tell(&self) -> bool {
        let (a, b) = self.hosts();
        a.min(b) >= self.fewest()
    }

    /// Differences of rows; the first row is unnamed time. `None` if there are too few hosts.
    pub(super) fn weighed(
        &self,
        (a, b): (&Side, &Side),
        rows: &[(Option<u32>, Option<u32>)],
        per: Per,
        seed: u64,
    ) -> Option<Vec<Separation>> {
        let (in_a, in_b): (Vec<_>, Vec<_>) = rows.iter().copied().unzip();
        let (a, b) = (Figures::from_side(a, &in_a, per), Figures::from_side(b, &in_b, per));
        let change =
            |row: usize, (in_a, in_b): (u32, u32)| b.of_host(row, in_b) - a.of_host(row, in_a);
        let pairs = || self.a.iter().copied().zip(self.b.iter().copied());
        let rows = 0..rows.len();
        match self.kind {
            BasisKind::Pairs => {
                let of = |row| pairs().map(|pair| change(row, pair)).collect();
                changed(&rows.map(of).collect::<Vec<Vec<f64>>>(), seed)
            }
            BasisKind::Sides => {
                let all = |figures: &Figures, hosts: &[u32], row| {
                    hosts.iter().map(|&host| figures.of_host(row, host)).collect()
                };
                let of = |row| (all(&a, &self.a, row), all(&b, &self.b, row));
                apart(&rows.map(of).collect::<Vec<_>>(), seed)
            }
            BasisKind::Rollout => {
                let others = |row| self.others.iter().map(|&pair| change(row, pair)).collect();
                let of = |row| (others(row), pairs().map(|pair| change(row, pair)).collect());
                apart(&rows.map(of).collect::<Vec<_>>(), seed)
            }
        }
    }

    /// A change by the measure, in per cent of one CPU of a host of side `b`.
    pub(super) fn of_one_cpu_pct(&self, change: f64, b: &Side, per: Per) -> f64 {
        let hosts = || self.b.iter().map(|&at| &b.hosts[at as usize]);
        let sum = |of: fn(&Host) -> u128| hosts().map(of).sum::<u128>() as f64;
        match per {
            Per::Cpu => change * sum(|host| host.capacity_ns) / sum(|host| host.length_ns),
            Per::Wall => change,
        }
    }

    /// Means of all rows over some hosts; `None` without hosts.
    pub(super) fn means(&self, side: &Side, hosts: &[u32], per: Per) -> Option<Means> {
        let count = (!hosts.is_empty()).then_some(hosts.len() as f64)?;
        let mut are = vec![false; side.hosts.len()];
        hosts.iter().for_each(|&at| are[at as usize] = true);
        let of = |ns: u128, host: u32| per.percent(ns, &side.hosts[host as usize]) / count;
        let unnamed = hosts.iter().map(|&at| of(side.hosts[at as usize].unnamed_ns, at)).sum();
        let mut used: Vec<_> = side.used.iter().filter(|((_, at), _)| are[*at as usize]).collect();
        // Sort: sums of floats depend on their order.
        used.sort_unstable();
        let mut rows = vec![0.0; side.rows.len()];
        for (&(row, host), &ns) in used {
            rows[row as usize] += of(ns, host);
        }
        Some(Means { unnamed, rows })
    }
}

/// Hosts with CPU time, and their indices.
fn counted(side: &Side) -> impl Iterator<Item = (u32, &Host)> {
    let had_time = |(_, host): &(u32, &Host)| host.capacity_ns > 0 && host.length_ns > 0;
    (0..).zip(&side.hosts).filter(had_time)
}

/// Means of a side's rows.
pub(super) struct Means {
    unnamed: f64,
    rows: Vec<f64>,
}

impl Means {
    /// Mean of a row; 0 for a missing row.
    pub fn mean(&self, is_unnamed: bool, number: Option<u32>) -> f64 {
        match is_unnamed {
            true => self.unnamed,
            false => number.map_or(0.0, |number| self.rows[number as usize]),
        }
    }
}

/// Figures of a side by row and host. A group without a row on a host was small there: it counts 0,
/// and `~other` has its time.
struct Figures(Vec<Vec<f64>>);

impl Figures {
    fn from_side(side: &Side, rows: &[Option<u32>], per: Per) -> Figures {
        let mut places = vec![None; side.rows.len()];
        for (at, number) in rows.iter().enumerate() {
            if let Some(number) = number {
                places[*number as usize] = Some(at);
            }
        }
        let mut figures = vec![vec![0.0; side.hosts.len()]; rows.len()];
        figures[0] = side.hosts.iter().map(|host| per.percent(host.unnamed_ns, host)).collect();
        for (&(row, host), &ns) in &side.used {
            if let Some(at) = places[row as usize] {
                figures[at][host as usize] = per.percent(ns, &side.hosts[host as usize]);
            }
        }
        Figures(figures)
    }

    fn of_host(&self, row: usize, host: u32) -> f64 {
        self.0[row][host as usize]
    }
}
