//! Control groups in words, the same in every view.

use crate::cgroups::{GroupRow, Groups};
use crate::frame::value::{Datum, Missing, Value};
use crate::words::cells::{count, ns, some, tenths};
use crate::words::order::Order;
use crate::words::units::duration;

/// A column: its heading, what it means, what stands in it, and what rows are ordered by.
pub type Figure =
    (&'static str, &'static str, fn(&Groups, &GroupRow) -> String, fn(&GroupRow) -> Value);

/// The columns; the last is the group.
pub const FIGURES: [Figure; 16] = [
    (
        "%CPU",
        "CPU time by the kernel's own count, of the group and all below it. Its files are read a moment \
         beside the window's ends, so it may come to a little more than the CPUs have.",
        |groups, row| pct(groups, row.stat.usage_ns),
        |row| ns(row.stat.usage_ns),
    ),
    (
        "LEDGER%",
        "The same by the ledger: exact, and of exactly this window.",
        |groups, row| pct(groups, row.ledger.map(|l| l.run_ns)),
        |row| ns(row.ledger.map(|l| l.run_ns)),
    ),
    (
        "%USR",
        "The user part of %CPU.",
        |groups, row| pct(groups, row.stat.user_ns),
        |row| ns(row.stat.user_ns),
    ),
    (
        "%SYS",
        "The system part of %CPU.",
        |groups, row| pct(groups, row.stat.system_ns),
        |row| ns(row.stat.system_ns),
    ),
    (
        "SHARE",
        "The part of the whole machine that it used: LEDGER%, else %CPU, of all CPUs together.",
        |groups, row| {
            let machine = groups.cpus.map(|cpus| window_ns(groups) * f64::from(cpus.max(1)));
            machine.map_or("-".into(), |machine| tenths(used_ns(row), machine))
        },
        |row| ns(used_ns(row)),
    ),
    (
        "LAT%",
        "Run-queue wait of its tasks, added up: 200 is two tasks that waited for a CPU all the time.",
        |groups, row| pct(groups, row.ledger.map(|l| l.lat_ns)),
        |row| ns(row.ledger.map(|l| l.lat_ns)),
    ),
    (
        "THR%",
        "Time in which its tasks could run but a quota was used up, added up as LAT% is.",
        |groups, row| pct(groups, row.ledger.map(|l| l.throttle_ns)),
        |row| ns(row.ledger.map(|l| l.throttle_ns)),
    ),
    (
        "THROTTLED",
        "How long the group was throttled by the kernel's own count, added up over CPUs.",
        |_, row| row.stat.throttled_ns.map_or("-".into(), duration),
        |row| ns(row.stat.throttled_ns),
    ),
    (
        "PERIODS",
        "Of the periods of its quota in the window, in how many it ran out: 19/20.",
        |_, row| match (row.stat.nr_throttled, row.stat.nr_periods) {
            (Some(throttled), Some(periods)) => format!("{throttled}/{periods}"),
            _ => "-".into(),
        },
        |row| count(row.stat.nr_throttled.filter(|_| row.stat.nr_periods.is_some())),
    ),
    (
        "WEIGHT",
        "Its weight against its neighbours' (cpu.weight; 100 unless somebody set it).",
        |_, row| some(row.sample.weight),
        |row| count(row.sample.weight),
    ),
    (
        "MAX",
        "The CPUs that its quota allows (cpu.max); max: no quota.",
        |_, row| match (row.sample.allowed_cpus, &row.sample.max) {
            (Some(cpus), _) => format!("{cpus:.2}"),
            (None, Some(_)) => "max".into(),
            (None, None) => "-".into(),
        },
        |row| real(row.sample.allowed_cpus),
    ),
    (
        "CPUS",
        "The CPUs that it may run on, as a list (cpuset).",
        |_, row| row.sample.cpus.clone().unwrap_or("-".into()),
        |row| row.sample.cpus.as_ref().map_or(NOT_KNOWN, Value::text),
    ),
    (
        "PSI%",
        "Pressure: how much of the window some task of it waited for a CPU (cpu.pressure, some).",
        |groups, row| pct(groups, row.pressure_some_ns),
        |row| ns(row.pressure_some_ns),
    ),
    (
        "PROCS",
        "Processes in it and below it.",
        |_, row| some(row.processes),
        |row| count(row.processes),
    ),
    (
        "EXITED",
        "Processes of it that exited in the window.",
        |_, row| some(row.ledger.map(|l| l.exited)),
        |row| count(row.ledger.map(|l| l.exited)),
    ),
    (
        "GROUP",
        "The group, below the one that it is in; in brackets what its path says it is.",
        |_, row| {
            let meaning = row.meaning.as_ref().map_or(String::new(), |m| format!("  ({m})"));
            format!("{}{meaning}", bare_name(row))
        },
        |row| Value::Known(Datum::Text(row.sample.name.clone())),
    ),
];

/// Why a group has no such figure is said of all of them ([`without_ledger`]).
const NOT_KNOWN: Value = Value::Missing(Missing::Source);

fn real(number: Option<f64>) -> Value {
    number.map_or(NOT_KNOWN, |number| Value::Known(Datum::Real(number)))
}

fn used_ns(row: &GroupRow) -> Option<u64> {
    row.ledger.map(|l| l.run_ns).or(row.stat.usage_ns)
}

/// What a group is called below the one that it is in, as deep as that is.
pub fn bare_name(row: &GroupRow) -> String {
    let name = row.sample.name.rsplit('/').next().filter(|name| !name.is_empty());
    format!("{}{}", "  ".repeat(row.depth), name.unwrap_or("/"))
}

/// The column by which groups are ordered while nobody chose one.
pub fn first_order(groups: &Groups) -> Order {
    let has_ledger = groups.rows.iter().any(|row| row.ledger.is_some());
    Order { column: usize::from(has_ledger), descending: true }
}

/// The rows in an order: each group before those below it, so that what is ordered are the groups of
/// one group.
pub fn ordered(groups: &Groups, order: Order) -> Vec<&GroupRow> {
    let value = FIGURES[order.column].3;
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); groups.rows.len() + 1];
    let mut path: Vec<usize> = Vec::new();
    for (n, row) in groups.rows.iter().enumerate() {
        while path.last().is_some_and(|&above| groups.rows[above].depth >= row.depth) {
            path.pop();
        }
        below[path.last().map_or(groups.rows.len(), |&above| above)].push(n);
        path.push(n);
    }
    for list in &mut below {
        list.sort_by_cached_key(|&n| order.place(value(&groups.rows[n]), n));
    }
    let mut left: Vec<usize> = below[groups.rows.len()].iter().rev().copied().collect();
    let mut rows = Vec::with_capacity(groups.rows.len());
    while let Some(n) = left.pop() {
        rows.push(&groups.rows[n]);
        left.extend(below[n].iter().rev());
    }
    rows
}

fn window_ns(groups: &Groups) -> f64 {
    groups.length_ns().max(1) as f64
}

fn pct(groups: &Groups, ns: Option<u64>) -> String {
    tenths(ns, window_ns(groups))
}

/// The headings.
pub fn heading() -> [&'static str; 16] {
    FIGURES.map(|(title, ..)| title)
}

/// A group's figures over the window.
pub fn line(groups: &Groups, row: &GroupRow) -> Vec<String> {
    FIGURES.iter().map(|(_, _, text, _)| text(groups, row)).collect()
}

/// Throttled for less than this part of the time it wanted to run, a group's quota goes unmentioned.
const WORTH_A_WORD: f64 = 0.01;

/// Why what only the ledger knows is not known, if it is not.
pub fn without_ledger(groups: &Groups) -> Option<String> {
    let why = groups.no_ledger.as_ref()?;
    Some(format!("LEDGER%, LAT%, THR% and EXITED are not known: {why}"))
}

/// Why the kernel's own count comes to more than there is, where it does.
pub fn beyond_cpus(groups: &Groups) -> Option<String> {
    let machine_ns = groups.length_ns().checked_mul(groups.cpus?.into())?;
    let root = groups.rows.first().filter(|row| row.depth == 0)?;
    (root.stat.usage_ns? > machine_ns).then(|| {
        // Where there is no ledger that column says nothing.
        let beside = if groups.no_ledger.is_none() { "; LEDGER% is of the window itself" } else { "" };
        format!(
            "%CPU is the kernel's own count, read a moment beside the window's ends: here it comes to more \
             than the CPUs have{beside}"
        )
    })
}

/// `group /x asked for 1.9 CPUs, may use 0.4, waited throttled 78 % of the time`, where a quota was
/// felt.
pub fn cost(groups: &Groups, row: &GroupRow) -> Option<String> {
    let (allowed, ledger) = (row.sample.allowed_cpus?, row.ledger.as_ref()?);
    let wanted = ledger.wanted_ns();
    let throttled = ledger.throttle_ns as f64 / wanted.max(1) as f64;
    (throttled >= WORTH_A_WORD).then(|| {
        let cpus = |ns: u64| ns as f64 / window_ns(groups);
        format!(
            "group {} asked for {:.1} CPUs, may use {allowed:.1}, waited throttled {:.0} % of the \
             time",
            row.sample.name,
            cpus(wanted),
            100.0 * throttled
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroups::GroupSample;
    use crate::cgroups::GroupUse;
    use crate::run::CpuStat;

    #[test]
    fn a_share_of_nobody_knows_how_many_cpus_is_not_known() {
        let stat = CpuStat { usage_ns: Some(500), ..CpuStat::default() };
        let group = GroupSample { name: "/".into(), stat, ..GroupSample::default() };
        let rows = crate::cgroups::rows(&[], &[group], None);
        let share = |cpus| {
            let groups =
                Groups { t0_ns: 0, t1_ns: 1000, cpus, no_ledger: None, rows: rows.clone() };
            line(&groups, &groups.rows[0])[4].clone()
        };
        assert_eq!([share(Some(2)), share(None)], ["25.0", "-"]);
    }

    /// Groups by name and CPU time, all of two CPUs and of a second.
    fn used(of: &[(&str, u64)]) -> Groups {
        let sample = |&(name, ns): &(&str, u64)| GroupSample {
            name: name.into(),
            id: Some(ns),
            stat: CpuStat { usage_ns: Some(ns), ..CpuStat::default() },
            ..GroupSample::default()
        };
        let samples: Vec<GroupSample> = of.iter().map(sample).collect();
        let uses = of.iter().map(|&(_, ns)| {
            let throttle_ns = 1_000_000_000 - ns;
            (ns, GroupUse { run_ns: ns, throttle_ns, ..GroupUse::default() })
        });
        let rows = crate::cgroups::rows(&[], &samples, Some(&uses.collect()));
        Groups { t0_ns: 0, t1_ns: 1_000_000_000, cpus: Some(2), no_ledger: None, rows }
    }

    #[test]
    fn an_order_is_of_the_groups_of_one_group_and_the_tree_stays() {
        let groups = used(&[("/", 500), ("/b", 300), ("/a", 200), ("/b/x", 20), ("/b/y", 40)]);
        let names = |column: &str, descending| {
            let column = heading().iter().position(|title| *title == column).unwrap();
            let rows = ordered(&groups, Order { column, descending });
            rows.into_iter().map(|row| row.sample.name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(names("%CPU", true), ["/", "/b", "/b/y", "/b/x", "/a"]);
        assert_eq!(names("%CPU", false), ["/", "/a", "/b", "/b/x", "/b/y"]);
        assert_eq!(names("GROUP", false), ["/", "/a", "/b", "/b/x", "/b/y"]);
        assert_eq!(names("MAX", true), names("MAX", false), "nobody has one: as they were");
        let first = first_order(&groups);
        let as_they_are: Vec<&GroupRow> = groups.rows.iter().collect();
        assert_eq!((first.column, ordered(&groups, first)), (1, as_they_are));
    }

    #[test]
    fn more_than_the_cpus_have_is_explained() {
        let words = |ns| beyond_cpus(&used(&[("/", ns)]));
        assert_eq!((words(999_999_999).is_some(), words(0).is_some()), (false, false));
        let mut groups = used(&[("/", 7)]);
        groups.rows[0].stat.usage_ns = Some(2_000_000_001);
        assert!(beyond_cpus(&groups).unwrap().contains("LEDGER%"));
    }
}
