//! Sums by container, pod, namespace, unit or user in words, the same in every view.

use crate::frame::named_sums::{NamedSum, NamedSums};
use crate::frame::value::{Datum, Missing, Value};
use crate::frame::Frame;
use crate::words::cells::{count, ns, some, tenths};
use crate::words::order::Order;

/// A column: its heading, what it means, what stands in it, and what rows are ordered by.
type Figure = (&'static str, &'static str, fn(&Frame, &NamedSum) -> String, fn(&NamedSum) -> Value);

/// The columns; the last is the name.
pub const FIGURES: [Figure; 10] = [
    (
        "%CPU",
        "CPU time of all of them, what exited included: the rows are in sum the balance's tasks and exited.",
        |frame, row| pct(frame, Some(row.run_ns)),
        |row| ns(Some(row.run_ns)),
    ),
    (
        "SHARE",
        "The part of the whole machine that they used.",
        |frame, row| tenths(Some(row.run_ns), window_ns(frame) * frame.cpus.len() as f64),
        |row| ns(Some(row.run_ns)),
    ),
    (
        "LAT%",
        "Run-queue wait of their tasks, added up: 200 is two tasks that waited for a CPU all the time.",
        |frame, row| pct(frame, row.lat_ns),
        |row| ns(row.lat_ns),
    ),
    (
        "THR%",
        "Time in which their tasks could run but a quota was used up, added up as LAT% is.",
        |frame, row| pct(frame, row.throttle_ns),
        |row| ns(row.throttle_ns),
    ),
    (
        "PERIODS",
        "Of the periods of their group's quota in the window, in how many it ran out: 19/20.",
        |_, row| match periods(row) {
            Some((throttled, periods)) => format!("{throttled}/{periods}"),
            None => "-".into(),
        },
        |row| count(periods(row).map(|(throttled, _)| throttled)),
    ),
    (
        "WEIGHT",
        "The weight of their group against its neighbours'.",
        |_, row| some(row.may.as_ref().and_then(|may| may.weight)),
        |row| count(row.may.as_ref().and_then(|may| may.weight)),
    ),
    (
        "MAX",
        "The CPUs that the tightest quota above them allows; max: no quota.",
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
        "Processes of them that exited in the window.",
        |_, row| some(row.exited),
        |row| count(row.exited),
    ),
    (
        "NAME",
        "What they have in common.",
        |_, row| row.name.clone(),
        |row| Value::Known(Datum::Text(row.name.clone())),
    ),
];

fn periods(row: &NamedSum) -> Option<(u64, u64)> {
    row.may.as_ref().and_then(|may| may.throttled.zip(may.periods))
}

/// How rows are ordered while nobody chose a column.
pub const FIRST_ORDER: Order = Order { column: 0, descending: true };

/// The rows in an order; those that are alike in it as they were.
pub fn ordered(sums: &NamedSums, order: Order) -> Vec<&NamedSum> {
    let value = FIGURES[order.column].3;
    let mut rows: Vec<(usize, &NamedSum)> = sums.rows.iter().enumerate().collect();
    rows.sort_by_cached_key(|(n, row)| order.place(value(row), *n));
    rows.into_iter().map(|(_, row)| row).collect()
}

/// How many columns there are.
pub const COLUMNS: usize = FIGURES.len();

fn window_ns(frame: &Frame) -> f64 {
    frame.length_ns().max(1) as f64
}

fn pct(frame: &Frame, ns: Option<u64>) -> String {
    tenths(ns, window_ns(frame))
}

/// The headings; the last says what the rows are.
pub fn heading(sums: &NamedSums) -> [String; COLUMNS] {
    let mut heading = FIGURES.map(|(title, ..)| title.to_string());
    heading[COLUMNS - 1] = sums.by.name().to_uppercase();
    heading
}

/// A row's figures over the window.
pub fn line(frame: &Frame, row: &NamedSum) -> Vec<String> {
    FIGURES.iter().map(|(_, _, text, _)| text(frame, row)).collect()
}

/// Throttled for less than this part of the time it wanted to run, a quota goes unmentioned.
const THROTTLED: f64 = 0.01;
/// Waiting for a CPU for less than this part, what others take does.
const STARVED: f64 = 0.2;
/// Nor is anything said of who wanted less than this part of a CPU.
const WANTED: f64 = 0.05;

/// Who was kept from running, by what, and how much of what it wanted that was: `container web asked
/// for 1.9 CPUs and got 0.4: throttled 78 % of that time by a quota of 0.4`.
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
        format!("waited for a CPU {} of it{weight}", percent(lat))
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

/// Why nobody has a name, if so: the source tells no control groups.
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
