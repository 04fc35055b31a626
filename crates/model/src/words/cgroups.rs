//! Control groups in words, the same in every view.

use crate::cgroups::{GroupRow, Groups};
use crate::words::units::duration;

/// A column: its heading, and what stands in it.
pub type Figure = (&'static str, fn(&Groups, &GroupRow) -> String);

/// The columns; the last is the group.
pub const FIGURES: [Figure; 16] = [
    ("%CPU", |groups, row| pct(groups, row.stat.usage_ns)),
    ("LEDGER%", |groups, row| pct(groups, row.ledger.map(|l| l.run_ns))),
    ("%USR", |groups, row| pct(groups, row.stat.user_ns)),
    ("%SYS", |groups, row| pct(groups, row.stat.system_ns)),
    ("SHARE", |groups, row| {
        let used = row.ledger.map(|l| l.run_ns).or(row.stat.usage_ns);
        let machine = groups.cpus.map(|cpus| window_ns(groups) * f64::from(cpus.max(1)));
        machine.map_or("-".into(), |machine| tenths(used, machine))
    }),
    ("LAT%", |groups, row| pct(groups, row.ledger.map(|l| l.lat_ns))),
    ("THR%", |groups, row| pct(groups, row.ledger.map(|l| l.throttle_ns))),
    ("THROTTLED", |_, row| row.stat.throttled_ns.map_or("-".into(), duration)),
    ("PERIODS", |_, row| match (row.stat.nr_throttled, row.stat.nr_periods) {
        (Some(throttled), Some(periods)) => format!("{throttled}/{periods}"),
        _ => "-".into(),
    }),
    ("WEIGHT", |_, row| some(row.sample.weight)),
    ("MAX", |_, row| match (row.sample.allowed_cpus, &row.sample.max) {
        (Some(cpus), _) => format!("{cpus:.2}"),
        (None, Some(_)) => "max".into(),
        (None, None) => "-".into(),
    }),
    ("CPUS", |_, row| row.sample.cpus.clone().unwrap_or("-".into())),
    ("PSI%", |groups, row| pct(groups, row.pressure_some_ns)),
    ("PROCS", |_, row| some(row.processes)),
    ("EXITED", |_, row| some(row.ledger.map(|l| l.exited))),
    ("GROUP", |_, row| {
        let name = row.sample.name.rsplit('/').next().filter(|name| !name.is_empty());
        let meaning = row.meaning.as_ref().map_or(String::new(), |m| format!("  ({m})"));
        format!("{}{}{meaning}", "  ".repeat(row.depth), name.unwrap_or("/"))
    }),
];

fn window_ns(groups: &Groups) -> f64 {
    groups.length_ns().max(1) as f64
}

fn tenths(ns: Option<u64>, of_ns: f64) -> String {
    ns.map_or("-".into(), |ns| format!("{:.1}", 100.0 * ns as f64 / of_ns))
}

fn pct(groups: &Groups, ns: Option<u64>) -> String {
    tenths(ns, window_ns(groups))
}

fn some(n: Option<u64>) -> String {
    n.map_or("-".into(), |n| n.to_string())
}

/// The headings.
pub fn heading() -> [&'static str; 16] {
    FIGURES.map(|(title, _)| title)
}

/// A group's figures over the window.
pub fn line(groups: &Groups, row: &GroupRow) -> Vec<String> {
    FIGURES.iter().map(|(_, figure)| figure(groups, row)).collect()
}

/// Throttled for less than this part of the time it wanted to run, a group's quota goes unmentioned.
const WORTH_A_WORD: f64 = 0.01;

/// Why what only the ledger knows is not known, if it is not.
pub fn without_ledger(groups: &Groups) -> Option<String> {
    let why = groups.no_ledger.as_ref()?;
    Some(format!("LEDGER%, LAT%, THR% and EXITED are not known: {why}"))
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
}
