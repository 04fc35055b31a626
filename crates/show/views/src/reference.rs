//! The columns reference, generated from the registry: for a terminal, as JSON, as Markdown.

use exactop_model::columns::{Unit, COLUMNS};
use exactop_model::{Column, Needs};
use serde_json::{json, Value as Json};
use std::fmt::Write;

/// A plain table: id, title, unit, meaning.
pub fn text() -> String {
    let mut out = format!("{:<14} {:<10} {:<6} MEANING\n", "ID", "TITLE", "UNIT");
    for c in COLUMNS {
        let _ = writeln!(out, "{:<14} {:<10} {:<6} {}", c.name, c.title, unit(c.unit), c.help);
        let _ = writeln!(out, "{:33}from {}", "", c.source);
        if let Some(needs) = needs(c) {
            let _ = writeln!(out, "{:33}needs {needs}", "");
        }
    }
    out
}

/// An array of objects.
pub fn json() -> String {
    let columns: Vec<Json> = COLUMNS
        .iter()
        .map(|c| {
            json!({
                "id": c.name,
                "title": c.title,
                "unit": unit(c.unit),
                "meaning": c.help,
                "source": c.source,
                "needs": needs_list(c),
            })
        })
        .collect();
    format!("{:#}\n", Json::Array(columns))
}

/// The page docs/reference/columns.md.
pub fn markdown() -> String {
    let mut out = String::from(
        "# Columns\n\n\
         `exactop columns --markdown` writes this page; do not edit it.\n\n\
         The id is the name in `--columns`, `-o`, `--filter`, JSON and CSV; the title works there \
         too. `~`\nmarks figures that the kernel samples at its tick. An unknown figure is `-` on \
         screen, `null` in\nJSON and empty in CSV.\n\n\
         | id | title | unit | meaning | source | needs |\n|---|---|---|---|---|---|\n",
    );
    for c in COLUMNS {
        let needs = needs(c).unwrap_or_default();
        let cells = [c.title, unit(c.unit), c.help, c.source, &needs].map(markdown_cell);
        let _ = writeln!(out, "| `{}` | {} |", c.name, cells.join(" | "));
    }
    out
}

fn markdown_cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('_', "\\_").replace('*', "\\*")
}

/// Name of a unit.
pub fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Pct => "%",
        Unit::Ns | Unit::Time => "ns",
        Unit::Count => "count",
        Unit::Bytes => "bytes",
        Unit::Int => "int",
        Unit::Id => "id",
        Unit::Text => "text",
    }
}

/// Files that a column needs besides the snapshot.
fn needs_list(column: &Column) -> Vec<&'static str> {
    const NAMES: &[(Needs, &str)] = &[
        (Needs::STAT, "/proc/PID/stat"),
        (Needs::STATM, "/proc/PID/statm"),
        (Needs::CMDLINE, "/proc/PID/cmdline"),
        (Needs::USER, "user names"),
        (Needs::CGROUP, "/proc/PID/cgroup"),
        (Needs::SCHEDSTAT, "/proc/PID/schedstat (procfs)"),
        (Needs::STATUS, "/proc/PID/status (procfs)"),
        (Needs::DISK, "/proc/PID/io"),
    ];
    NAMES.iter().filter(|(need, _)| column.needs.has(*need)).map(|(_, name)| *name).collect()
}

fn needs(column: &Column) -> Option<String> {
    let list = needs_list(column);
    (!list.is_empty()).then(|| list.join(", "))
}
