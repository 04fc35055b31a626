//! Pages as CSV: a header, then one line per row and window. An empty field is a missing figure.
//! Text that a spreadsheet would take for a formula begins with an apostrophe.

use crate::plan::Page;
use exactop_model::{Column, Datum, RowKind, Value};
use std::io::{self, Write};

/// The fields before the columns.
pub const FIXED: &[&str] = &["t0_ns", "t1_ns", "kind"];
/// The field after the columns: the window's end by the wall clock, seconds since the epoch, as in
/// JSON.
pub const WALL: &str = "wall_s";

/// Writes the header.
pub fn write_header(out: &mut dyn Write, columns: &[&Column]) -> io::Result<()> {
    let ids = columns.iter().map(|c| c.name);
    record(out, FIXED.iter().copied().chain(ids).chain([WALL]))
}

/// Writes the rows of one window.
pub fn write(out: &mut dyn Write, page: &Page) -> io::Result<()> {
    let mut csv = ::csv::WriterBuilder::new().from_writer(out);
    let instants = [page.frame.t0_ns.to_string(), page.frame.t1_ns.to_string()];
    for row in page.rows.iter().chain(&page.exited) {
        let fixed = instants.iter().cloned().chain([kind(row.kind).to_string()]);
        let cells = page.columns.iter().map(|c| field(&(c.value)(row, &page.context)));
        let wall = page.frame.system.wall_s.map_or(String::new(), |wall| wall.to_string());
        csv.write_record(fixed.chain(cells).chain([wall])).map_err(into_io)?;
    }
    csv.flush()
}

/// A text field. Process names may hold any text.
pub(crate) fn text(text: &str) -> String {
    exactop_model::text::escape::csv_cell(text).into_owned()
}

pub(crate) fn line(out: &mut Vec<u8>, fields: impl Iterator<Item: AsRef<[u8]>>) {
    // Writing to memory cannot fail.
    let _ = record(out, fields);
}

fn record(out: &mut dyn Write, fields: impl Iterator<Item: AsRef<[u8]>>) -> io::Result<()> {
    let mut csv = ::csv::WriterBuilder::new().from_writer(out);
    csv.write_record(fields).map_err(into_io)?;
    csv.flush()
}

fn into_io(error: ::csv::Error) -> io::Error {
    match error.into_kind() {
        ::csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// Kind of a row, in CSV and JSON.
pub(crate) fn kind(kind: RowKind) -> &'static str {
    match kind {
        RowKind::Task => "task",
        RowKind::Process => "process",
        RowKind::Exited => "exited",
    }
}

pub(crate) fn field(value: &Value) -> String {
    match value {
        Value::Missing(_) => String::new(),
        Value::Known(Datum::Ns(n) | Datum::Count(n) | Datum::Bytes(n)) => n.to_string(),
        Value::Known(Datum::Int(i)) => i.to_string(),
        Value::Known(Datum::Pct(n) | Datum::Real(n)) => n.to_string(),
        Value::Known(Datum::Text(text)) => self::text(text),
    }
}
