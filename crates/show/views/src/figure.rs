//! Figures of on-demand windows. Each is defined once; the table for people, JSON, and CSV with its
//! header follow from the definition, as with columns.

use crate::grid::{self, Layout};
use crate::json::Cell;
use crate::{csv, Sheet};
use exactop_model::columns::Unit;
use exactop_model::words::units::{self, duration};
use exactop_model::{Datum, Missing, TaskRef, Value};
use serde_json::{json, Map, Value as Json};

/// A figure of the rows `R` of a window `W`.
pub(crate) struct Figure<W, R> {
    /// Heading of its column in the table for people; empty: not in the table.
    title: &'static str,
    /// Key in JSON and name in CSV.
    name: &'static str,
    in_json: bool,
    in_csv: bool,
    value: fn(&W, &R) -> Value,
}

impl<W, R> Figure<W, R> {
    /// A figure for people and for programs.
    pub const fn new(
        title: &'static str,
        name: &'static str,
        value: fn(&W, &R) -> Value,
    ) -> Figure<W, R> {
        Figure { title, name, in_json: true, in_csv: true, value }
    }

    /// A figure for programs only; people see figures derived from it.
    pub const fn machine_only(name: &'static str, value: fn(&W, &R) -> Value) -> Figure<W, R> {
        Figure::new("", name, value)
    }

    /// A figure for people only.
    pub const fn shown(title: &'static str, value: fn(&W, &R) -> Value) -> Figure<W, R> {
        Figure { title, name: "", in_json: false, in_csv: false, value }
    }

    /// A figure in JSON only.
    pub const fn json(name: &'static str, value: fn(&W, &R) -> Value) -> Figure<W, R> {
        Figure { in_csv: false, ..Figure::machine_only(name, value) }
    }

    /// A figure in CSV only, where JSON has an object.
    pub const fn csv(name: &'static str, value: fn(&W, &R) -> Value) -> Figure<W, R> {
        Figure { in_json: false, ..Figure::machine_only(name, value) }
    }
}

pub(crate) fn count(n: impl Into<Option<u64>>) -> Value {
    Value::count(n.into(), Missing::Source)
}

/// Nanoseconds.
pub(crate) fn ns(ns: impl Into<Option<u64>>) -> Value {
    Value::ns(ns.into(), Missing::Source)
}

/// Text whose control characters are already escaped.
pub(crate) fn text(text: impl Into<Option<String>>) -> Value {
    text.into().map_or(Value::Missing(Missing::Source), |text| Value::Known(Datum::Text(text)))
}

/// PID; the kernel itself has none.
pub(crate) fn pid(who: &TaskRef) -> Value {
    count((who.tgid != 0).then_some(who.tgid.into()))
}

/// Thread id.
pub(crate) fn tid(who: &TaskRef) -> Value {
    count(who.tid.filter(|_| who.tgid != 0).map(u64::from))
}

pub(crate) fn objects<W, R>(figures: &[Figure<W, R>], window: &W, rows: &[R]) -> Vec<Json> {
    rows.iter().map(|row| object(figures, window, row)).collect()
}

pub(crate) fn object<W, R>(figures: &[Figure<W, R>], window: &W, row: &R) -> Json {
    let entry = |f: &Figure<W, R>| (f.name.to_string(), json!(Cell((f.value)(window, row))));
    Json::Object(figures.iter().filter(|f| f.in_json).map(entry).collect::<Map<_, _>>())
}

pub(crate) fn csv_header<W, R>(figures: &[Figure<W, R>]) -> Vec<u8> {
    let names = figures.iter().filter(|f| f.in_csv).map(|f| f.name);
    let mut out = Vec::new();
    csv::line(&mut out, ["t0_ns", "t1_ns"].into_iter().chain(names));
    out
}

/// CSV, one line per row; `instants`: begin and end of the window.
pub(crate) fn csv<W, R>(
    figures: &[Figure<W, R>],
    window: &W,
    instants: [u64; 2],
    rows: &[R],
) -> Vec<u8> {
    let mut out = Vec::new();
    for row in rows {
        let told = figures.iter().filter(|f| f.in_csv).map(|f| csv::field(&(f.value)(window, row)));
        csv::line(&mut out, instants.map(|ns| ns.to_string()).into_iter().chain(told));
    }
    out
}

/// A table of the rows for which the sheet has room, with the number of omitted rows. Columns in
/// `hidden` are left out.
pub(crate) fn table<W, R>(
    figures: &[Figure<W, R>],
    window: &W,
    rows: &[R],
    sheet: Sheet,
    layout: &Layout,
    hidden: &[&str],
) -> String {
    let figures = figures.iter().filter(|f| !f.title.is_empty() && !hidden.contains(&f.title));
    let figures: Vec<_> = figures.collect();
    let heading: Vec<&str> = figures.iter().map(|f| f.title).collect();
    let line = |row| figures.iter().map(|f| shown(&(f.value)(window, row))).collect();
    let lines = rows.iter().take(sheet.rows).map(line).collect();
    grid::text(&heading, lines, layout, sheet.width) + &grid::left_out(rows.len(), sheet)
}

fn shown(value: &Value) -> String {
    match value {
        Value::Known(Datum::Ns(ns)) => duration(*ns),
        known => units::cell(known, Unit::Id),
    }
}
