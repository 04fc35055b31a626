//! Totals by container, pod, namespace, unit or user as text, the same in every view.

use crate::frame::named_sums::{NamedSum, NamedSums};
use crate::frame::value::{Datum, Missing, Value};
use crate::frame::Frame;
use crate::words::blame::culprits;
use crate::words::cells::{count, ns, some, tenths};
use crate::words::order::Order;

/// A column: heading, help, text of the cell, and sort value.
type Figure = (&'static str, &'static str, fn(&Frame, &NamedSum) -> String, fn(&NamedSum) -> Value);

/// Heading of the column with culprits.
pub const KEPT_OFF: &str = "KEPT OFF BY";

/// The columns; the last one is the name.
pub const FIGURES: [Figure; 11] = [
    (
        "%CPU",
        "CPU time, exited tasks included: all rows sum to the balance's tasks and exited.",
        |frame, row| pct(frame, Some(row.run_ns)),
        |row| ns(Some(row.run_ns)),
    ),
    (
        "SHARE",
        "Share of the whole machine.",
        |frame, row| tenths(Some(row.run_ns), window_ns(frame) * frame.cpus.len() as f64),
        |row| ns(Some(row.run_ns)),
    ),
    (
        "LAT%",
        "Run-queue wait, summed over tasks: 200 is two tasks that waited for a CPU all the time.",
        |frame, row| pct(frame, row.lat_ns),
        |row| ns(row.lat_ns),
    ),
    (
        "THR%",
        "Time in which tasks could run but a quota was used up, summed over tasks.",
        |frame, row| pct(frame, row.throttle_ns),
        |row| ns(row.throttle_ns),
    ),
    (
        "PERIODS",
        "Periods of the group's quota in the window: 19/20 means that it ran out in 19 of 20.",
        |_, row| match periods(row) {
            Some((throttled, periods)) => format!("{throttled}/{periods}"),
            None => "-".into(),
        },
        |row| count(periods(row).map(|(throttled, _)| throttled)),
    ),
    (
        "WEIGHT",
        "Weight of the group against its sibling groups.",
        |_, row| some(row.may.as_ref().and_then(|may| may.weight)),
        |row| count(row.may.as_ref().and_then(|may| may.weight)),
    ),
    (
        "MAX",
        "Number of CPUs that the tightest quota above allows; max: no quota.",
        |_, row| match &row.may {
            None => "-".into(),
            Some(may) => may.cpus.map_or("max".into(), |cpus| format!("{cpus:.2}")),
        },
        |row| match row.may.as_ref().and_then(|may| may.cpus) {
            None => Value::Missing(Missing::Source),
            Some(cpus) => Value::Known(Datum::Real(cpus)),
        },
    ),
    (
        "PROCS",
        "Processes at the window's end.",
        |_, row| row.processes.to_string(),
        |row| count(Some(row.processes)),
    ),
    (
        "EXITED",
        "Processes that exited in the window.",
        |_, row| some(row.exited),
        |row| count(row.exited),
    ),
    (
        KEPT_OFF,
        "Who had the CPU while its tasks waited, with the share of the wait.",
        |_, row| row.kept_off.as_ref().map_or("-".into(), |victim| culprits(victim, 2)),
        |row| ns(row.kept_off.as_ref().map(|victim| victim.booked_ns())),
    ),
    (
        "NAME",
        "The name under which tasks are summed.",
        |_, row| row.name.clone(),
        |row| Value::Known(Datum::Text(row.name.clone())),
    ),
];

fn periods(row: &NamedSum) -> Option<(u64, u64)> {
    row.may.as_ref().and_then(|may| may.throttled.zip(may.periods))
}

/// The default order.
pub const FIRST_ORDER: Order = Order { column: 0, descending: true };

/// The rows in an order; equal rows keep their order.
pub fn ordered(sums: &NamedSums, order: Order) -> Vec<&NamedSum> {
    let value = FIGURES[order.column].3;
    let mut rows: Vec<(usize, &NamedSum)> = sums.rows.iter().enumerate().collect();
    rows.sort_by_cached_key(|(n, row)| order.place(value(row), *n));
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Number of columns.
pub const COLUMNS: usize = FIGURES.len();

fn window_ns(frame: &Frame) -> f64 {
    frame.length_ns().max(1) as f64
}

fn pct(frame: &Frame, ns: Option<u64>) -> String {
    tenths(ns, window_ns(frame))
}

/// The headings; the last one is the key of the rows.
pub fn heading(sums: &NamedSums) -> [String; COLUMNS] {
    let mut heading = FIGURES.map(|(title, ..)| title.to_string());
    heading[COLUMNS - 1] = sums.by.name().to_uppercase();
    heading
}

/// A row's figures over the window.
pub fn line(frame: &Frame, row: &NamedSum) -> Vec<String> {
    FIGURES.iter().map(|(_, _, text, _)| text(frame, row)).collect()
}

/// Least throttled time that is worth a line, as a part of the wanted time.
const THROTTLED: f64 = 0.01;
/// Least run-queue wait that is worth a line, as a part of the wanted time.
const STARVED: f64 = 0.2;
/// Least wanted time that is worth a line, as a part of one CPU.
const WANTED: f64 = 0.05;

/// Says what kept the tasks of a row from running, and for how much of the wanted time: `container
/// web asked for 1.9 CPUs and got 0.4: throttled 78 % of that time by a quota of 0.4`.
pub fn lost(sums: &NamedSums, frame: &Frame, row: &NamedSum) -> Option<String> {
    let (wanted, lat, throttle) = (row.wanted_ns()?, row.lat_ns?, row.throttle_ns?);
    let cpus = |ns: u64| ns as f64 / window_ns(frame);
    let part = |ns: u64| ns as f64 / wanted.max(1) as f64;
    if row.is_rest || cpus(wanted) < WANTED {
        return None;
    }
    let percent = |ns| format!("{:.0} %", 100.0 * part(ns));
    let may = row.may.as_ref();
    let throttled = (part(throttle) >= THROTTLED).then(|| {
        let quota = may.and_then(|may| may.cpus).map(|cpus| format!(" by a quota of {cpus:.1}"));
        format!("throttled {} of that time{}", percent(throttle), quota.map_or("".into(), |q| q))
    });
    let starved = (part(lat) >= STARVED).then(|| {
        let weight =
            may.and_then(|may| may.weight).map(|weight| format!(" at a weight of {weight}"));
        let weight = weight.map_or("".into(), |w| w);
        format!("waited for a CPU {} of that time{weight}", percent(lat))
    });
    let lost: Vec<String> = throttled.into_iter().chain(starved).collect();
    (!lost.is_empty()).then(|| {
        format!(
            "{} {} asked for {:.1} CPUs and got {:.1}: {}",
            sums.by,
            row.name,
            cpus(wanted),
            cpus(row.run_ns),
            lost.join(", ")
        )
    })
}

/// Says why no row has a name, if the source does not report control groups.
pub fn without_groups(sums: &NamedSums, frame: &Frame) -> Option<String> {
    let nobody = sums.rows.iter().all(|row| row.name == crate::ledger::named::UNKNOWN);
    if nobody && frame.books.outside_ns.is_some() && !sums.rows.is_empty() {
        return Some("control groups are not available inside a PID namespace".into());
    }
    let source = frame.provenance.source;
    (nobody && !sums.rows.is_empty() && !source.sees_groups()).then(|| {
        format!(
            "the source {} does not report control groups: for sums by {} use the ledger or the \
             source snapshot",
            source.name(),
            sums.by
        )
    })
}
