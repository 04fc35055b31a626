//! Control groups as text, the same in every view.

use crate::cgroups::{GroupRow, Groups};
use crate::frame::value::{Datum, Missing, Value};
use crate::words::cells::{count, ns, some, tenths};
use crate::words::order::Order;
use crate::words::units::duration;

/// A column: heading, help, text of the cell, and sort value.
pub type Figure =
    (&'static str, &'static str, fn(&Groups, &GroupRow) -> String, fn(&GroupRow) -> Value);

/// The columns; the last one is the group.
pub const FIGURES: [Figure; 16] = [
    (
        "%CPU",
        "CPU time by the kernel's own count, of the group and all groups below it. exactop reads it a \
         moment after each end of the window, so it may be a little more than the CPUs have.",
        |groups, row| pct(groups, row.stat.usage_ns),
        |row| ns(row.stat.usage_ns),
    ),
    (
        "LEDGER%",
        "CPU time by the ledger: exact, and for exactly this window.",
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
        "Share of the whole machine: LEDGER%, else %CPU, of all CPUs together.",
        |groups, row| {
            let machine = groups.cpus.map(|cpus| window_ns(groups) * f64::from(cpus.max(1)));
            machine.map_or("-".into(), |machine| tenths(used_ns(row), machine))
        },
        |row| ns(used_ns(row)),
    ),
    (
        "LAT%",
        "Run-queue wait, summed over its tasks: 200 is two tasks that waited for a CPU all the time.",
        |groups, row| pct(groups, row.ledger.map(|l| l.lat_ns)),
        |row| ns(row.ledger.map(|l| l.lat_ns)),
    ),
    (
        "THR%",
        "Time in which its tasks could run but a quota was used up, summed over tasks.",
        |groups, row| pct(groups, row.ledger.map(|l| l.throttle_ns)),
        |row| ns(row.ledger.map(|l| l.throttle_ns)),
    ),
    (
        "THROTTLED",
        "Time that the group was throttled by the kernel's own count, summed over CPUs.",
        |_, row| row.stat.throttled_ns.map_or("-".into(), duration),
        |row| ns(row.stat.throttled_ns),
    ),
    (
        "PERIODS",
        "Periods of its quota in the window: 19/20 means that it ran out in 19 of 20.",
        |_, row| match (row.stat.nr_throttled, row.stat.nr_periods) {
            (Some(throttled), Some(periods)) => format!("{throttled}/{periods}"),
            _ => "-".into(),
        },
        |row| count(row.stat.nr_throttled.filter(|_| row.stat.nr_periods.is_some())),
    ),
    (
        "WEIGHT",
        "Weight against its sibling groups (cpu.weight; 100 by default).",
        |_, row| some(row.sample.weight),
        |row| count(row.sample.weight),
    ),
    (
        "MAX",
        "Number of CPUs that its quota allows (cpu.max); max: no quota.",
        |_, row| match (row.sample.allowed_cpus, &row.sample.max) {
            (Some(cpus), _) => format!("{cpus:.2}"),
            (None, Some(_)) => "max".into(),
            (None, None) => "-".into(),
        },
        |row| real(row.sample.allowed_cpus),
    ),
    (
        "CPUS",
        "CPUs that it may run on, as a list (cpuset).",
        |_, row| row.sample.cpus.clone().unwrap_or("-".into()),
        |row| row.sample.cpus.as_ref().map_or(NOT_KNOWN, Value::text),
    ),
    (
        "PSI%",
        "Pressure: part of the window in which a task of it waited for a CPU (cpu.pressure, some).",
        |groups, row| pct(groups, row.pressure_some_ns),
        |row| ns(row.pressure_some_ns),
    ),
    (
        "PROCS",
        "Processes in the group and the groups below it.",
        |_, row| some(row.processes),
        |row| count(row.processes),
    ),
    (
        "EXITED",
        "Processes of the group that exited in the window.",
        |_, row| some(row.ledger.map(|l| l.exited)),
        |row| count(row.ledger.map(|l| l.exited)),
    ),
    (
        "GROUP",
        "The group, below its parent; in brackets the container, pod or unit that its path names.",
        |_, row| {
            let meaning = row.meaning.as_ref().map_or(String::new(), |m| format!("  ({m})"));
            format!("{}{meaning}", bare_name(row))
        },
        |row| Value::Known(Datum::Text(row.sample.name.clone())),
    ),
];

/// Reason for a missing value; [`without_ledger`] explains it once for all groups.
const NOT_KNOWN: Value = Value::Missing(Missing::Source);

fn real(number: Option<f64>) -> Value {
    number.map_or(NOT_KNOWN, |number| Value::Known(Datum::Real(number)))
}

fn used_ns(row: &GroupRow) -> Option<u64> {
    row.ledger.map(|l| l.run_ns).or(row.stat.usage_ns)
}

/// Last part of the group's path, indented by its depth.
pub fn bare_name(row: &GroupRow) -> String {
    let name = row.sample.name.rsplit('/').next().filter(|name| !name.is_empty());
    format!("{}{}", "  ".repeat(row.depth), name.unwrap_or("/"))
}

/// The default sort column.
pub fn first_order(groups: &Groups) -> Order {
    let has_ledger = groups.rows.iter().any(|row| row.ledger.is_some());
    Order { column: usize::from(has_ledger), descending: true }
}

/// The rows in an order. Each group stands before those below it, so only siblings are sorted.
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

/// Least throttled time that is worth a line, as a part of the time that the group wanted to run.
const WORTH_A_WORD: f64 = 0.01;

/// Says why the ledger's columns are missing, if they are.
pub fn without_ledger(groups: &Groups) -> Option<String> {
    let why = groups.no_ledger.as_ref()?;
    Some(format!("LEDGER%, LAT%, THR% and EXITED are unknown: {why}"))
}

/// Explains why the kernel's count exceeds the CPUs' time, if it does.
pub fn beyond_cpus(groups: &Groups) -> Option<String> {
    let machine_ns = groups.length_ns().checked_mul(groups.cpus?.into())?;
    let root = groups.rows.first().filter(|row| row.depth == 0)?;
    (root.stat.usage_ns? > machine_ns).then(|| {
        // Without a ledger its column is empty.
        let beside = if groups.no_ledger.is_none() { "; LEDGER% is exact" } else { "" };
        format!("%CPU exceeds the CPUs: exactop reads it after the window's end{beside}")
    })
}

/// `group /x asked for 1.9 CPUs, may use 0.4, throttled 78 % of that time`, if a quota held
/// the group back.
pub fn cost(groups: &Groups, row: &GroupRow) -> Option<String> {
    let (allowed, ledger) = (row.sample.allowed_cpus?, row.ledger.as_ref()?);
    let wanted = ledger.wanted_ns();
    let throttled = ledger.throttle_ns as f64 / wanted.max(1) as f64;
    (throttled >= WORTH_A_WORD).then(|| {
        let cpus = |ns: u64| ns as f64 / window_ns(groups);
        format!(
            "group {} asked for {:.1} CPUs, may use {allowed:.1}: throttled {:.0} % of that time",
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
    fn a_share_is_unknown_if_the_number_of_cpus_is() {
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

    /// Groups by name and CPU time, on two CPUs in a window of one second.
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
    fn an_order_sorts_siblings_and_keeps_the_tree() {
        let groups = used(&[("/", 500), ("/b", 300), ("/a", 200), ("/b/x", 20), ("/b/y", 40)]);
        let names = |column: &str, descending| {
            let column = heading().iter().position(|title| *title == column).unwrap();
            let rows = ordered(&groups, Order { column, descending });
            rows.into_iter().map(|row| row.sample.name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(names("%CPU", true), ["/", "/b", "/b/y", "/b/x", "/a"]);
        assert_eq!(names("%CPU", false), ["/", "/a", "/b", "/b/x", "/b/y"]);
        assert_eq!(names("GROUP", false), ["/", "/a", "/b", "/b/x", "/b/y"]);
        assert_eq!(names("MAX", true), names("MAX", false), "no quotas: the order stays");
        let first = first_order(&groups);
        let as_they_are: Vec<&GroupRow> = groups.rows.iter().collect();
        assert_eq!((first.column, ordered(&groups, first)), (1, as_they_are));
    }

    #[test]
    fn a_count_beyond_the_cpus_time_is_explained() {
        let words = |ns| beyond_cpus(&used(&[("/", ns)]));
        assert_eq!((words(999_999_999).is_some(), words(0).is_some()), (false, false));
        let mut groups = used(&[("/", 7)]);
        groups.rows[0].stat.usage_ns = Some(2_000_000_001);
        let words = beyond_cpus(&groups).unwrap();
        assert!(words.contains("LEDGER%") && words.len() <= 80, "{words}");
    }
}
