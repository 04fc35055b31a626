//! Control groups in words, the same in every view.

use crate::cgroups::{GroupRow, Groups};
use crate::words::units::duration;

/// The columns of [`line()`]; the last is the group.
pub const HEADING: [&str; 16] = [
    "%CPU",
    "LEDGER%",
    "%USR",
    "%SYS",
    "SHARE",
    "LAT%",
    "THR%",
    "THROTTLED",
    "PERIODS",
    "WEIGHT",
    "MAX",
    "CPUS",
    "PSI%",
    "PROCS",
    "EXITED",
    "GROUP",
];

/// Throttled for less than this part of the time it wanted to run, a group's quota goes unmentioned.
const WORTH_A_WORD: f64 = 0.01;

/// A group's figures over the window.
pub fn line(groups: &Groups, row: &GroupRow) -> Vec<String> {
    let window = groups.length_ns().max(1) as f64;
    let pct =
        |ns: Option<u64>| ns.map_or("-".into(), |ns| format!("{:.1}", 100.0 * ns as f64 / window));
    let stat = &row.stat;
    let ledger = row.ledger.as_ref();
    let machine = window * f64::from(groups.cpus.max(1));
    let used = ledger.map(|l| l.run_ns).or(stat.usage_ns);
    let periods = match (stat.nr_throttled, stat.nr_periods) {
        (Some(throttled), Some(periods)) => format!("{throttled}/{periods}"),
        _ => "-".into(),
    };
    let some = |n: Option<u64>| n.map_or("-".into(), |n| n.to_string());
    let allowed = match (row.sample.allowed_cpus, &row.sample.max) {
        (Some(cpus), _) => format!("{cpus:.2}"),
        (None, Some(_)) => "max".into(),
        (None, None) => "-".into(),
    };
    let name = row.sample.name.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("/");
    let meaning = row.meaning.as_ref().map_or(String::new(), |m| format!("  ({m})"));
    vec![
        pct(stat.usage_ns),
        pct(ledger.map(|l| l.run_ns)),
        pct(stat.user_ns),
        pct(stat.system_ns),
        used.map_or("-".into(), |ns| format!("{:.1}", 100.0 * ns as f64 / machine)),
        pct(ledger.map(|l| l.lat_ns)),
        pct(ledger.map(|l| l.throttle_ns)),
        stat.throttled_ns.map_or("-".into(), duration),
        periods,
        some(row.sample.weight),
        allowed,
        row.sample.cpus.clone().unwrap_or("-".into()),
        pct(row.pressure_some_ns),
        some(row.processes),
        some(ledger.map(|l| l.exited)),
        format!("{}{name}{meaning}", "  ".repeat(row.depth)),
    ]
}

/// `group /x asked for 1.9 CPUs, may use 0.4, waited throttled 78 % of the time`, where a quota was
/// felt.
pub fn cost(groups: &Groups, row: &GroupRow) -> Option<String> {
    let (allowed, ledger) = (row.sample.allowed_cpus?, row.ledger.as_ref()?);
    let wanted = ledger.wanted_ns();
    let throttled = ledger.throttle_ns as f64 / wanted.max(1) as f64;
    (throttled >= WORTH_A_WORD).then(|| {
        let cpus = |ns: u64| ns as f64 / groups.length_ns().max(1) as f64;
        format!(
            "group {} asked for {:.1} CPUs, may use {allowed:.1}, waited throttled {:.0} % of the \
             time",
            row.sample.name,
            cpus(wanted),
            100.0 * throttled
        )
    })
}
