//! A window summed by container, pod, namespace, unit or user, as text, JSON lines and CSV. A
//! sentence explains the limits of each group that waited or was throttled.

use crate::figure::{self, count, ns, text as word, Figure};
use crate::grid::{self, Layout, Text};
use crate::{csv, header, json, Page};
use exactop_model::frame::named_sums::{NamedSum, NamedSums};
use exactop_model::ledger::named::UNKNOWN;
use exactop_model::words::named_sums::{heading, line, lost, without_groups, KEPT_OFF};
use exactop_model::{Datum, Frame, Missing, Value};
use serde_json::json;
use std::io::{self, Write};

/// Name of the schema.
pub const SCHEMA: &str = "exactop.sums";
/// Version of the schema; raised when a field changes its meaning or is removed.
pub const VERSION: u32 = 2;

/// Figures of a row for programs; [`exactop_model::words::named_sums`] has those for people.
const FIGURES: &[Figure<Frame, NamedSum>] = &[
    Figure::machine_only("name", |_, row| word(row.name.clone())),
    Figure::machine_only("kind", |_, row| {
        let kind = match row.is_rest {
            false => "named",
            true if row.name == UNKNOWN => "unknown",
            true => "none",
        };
        word(kind.to_string())
    }),
    Figure::machine_only("run_ns", |_, row| ns(row.run_ns)),
    Figure::machine_only("lat_ns", |_, row| ns(row.lat_ns)),
    Figure::machine_only("throttle_ns", |_, row| ns(row.throttle_ns)),
    Figure::machine_only("processes", |_, row| count(row.processes)),
    Figure::machine_only("exited_processes", |_, row| count(row.exited)),
    Figure::machine_only("weight", |_, row| count(row.may.as_ref().and_then(|may| may.weight))),
    Figure::machine_only("allowed_cpus", |_, row| {
        let cpus = row.may.as_ref().and_then(|may| may.cpus);
        cpus.map_or(Value::Missing(Missing::Source), |cpus| Value::Known(Datum::Real(cpus)))
    }),
    Figure::machine_only("nr_periods", |_, row| {
        count(row.may.as_ref().and_then(|may| may.periods))
    }),
    Figure::machine_only("nr_throttled", |_, row| {
        count(row.may.as_ref().and_then(|may| may.throttled))
    }),
    Figure::csv(csv::WALL, |frame, _| {
        let wall = frame.system.wall_s;
        wall.map_or(Value::Missing(Missing::Source), |wall| Value::Known(Datum::Int(wall)))
    }),
    Figure::json("words", |frame, row| {
        word(frame.sums.as_ref().and_then(|sums| lost(sums, frame, row)))
    }),
];

fn rows(frame: &Frame) -> &[NamedSum] {
    frame.sums.as_ref().map_or(&[], |sums| &sums.rows)
}

/// Text for people: the summary, the rows, and the groups that were kept from running.
pub fn text(out: &mut dyn Write, page: &Page) -> io::Result<()> {
    let Some(sums) = &page.frame.sums else { return Ok(()) };
    for line in header::lines(page, false) {
        writeln!(out, "{line}")?;
    }
    writeln!(out)?;
    out.write_all(table(sums, &page.frame).as_bytes())
}

fn table(sums: &NamedSums, frame: &Frame) -> String {
    let heading = heading(sums);
    let heading = heading.each_ref().map(String::as_str);
    let name = heading.last().map(|name| (*name, Text::Name));
    let texts: Vec<_> = [(KEPT_OFF, Text::List)].into_iter().chain(name).collect();
    let layout = Layout { texts: &texts, yields: &[] };
    let lines = sums.rows.iter().map(|row| line(frame, row)).collect();
    let words = sums.rows.iter().filter_map(|row| lost(sums, frame, row));
    let words = words.chain(without_groups(sums, frame)).map(|words| words + "\n");
    grid::text(&heading, lines, &layout, None) + &words.collect::<String>()
}

/// One JSON object on one line.
pub fn json(out: &mut dyn Write, page: &Page) -> io::Result<()> {
    let frame = &page.frame;
    let object = json!({
        "schema": { "name": SCHEMA, "version": VERSION },
        "by": frame.sums.as_ref().map(|sums| sums.by.name()),
        "window": json::window(frame),
        "books": json::books(frame),
        "source": json::source(&frame.provenance),
        "rows": figure::objects(FIGURES, frame, rows(frame)),
    });
    writeln!(out, "{object}")
}

/// The CSV header.
pub fn csv_header() -> Vec<u8> {
    figure::csv_header(FIGURES)
}

/// CSV, one line per row.
pub fn csv(page: &Page) -> Vec<u8> {
    let frame = &page.frame;
    figure::csv(FIGURES, frame, [frame.t0_ns, frame.t1_ns], rows(frame))
}
