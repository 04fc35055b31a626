//! Writes a run's report.

use crate::failure::{complain, Failure};
use crate::output::{self, file};
use exactop_model::run::{End, RunReport, Rusage};
use exactop_views::run::{self, gnu};
use std::io::Write;
use std::path::Path;

/// Format of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format<'a> {
    /// No report.
    None,
    /// Text for people.
    Words,
    /// real, user, sys.
    Posix,
    /// GNU time's letters.
    Letters(&'a str),
}

/// Checks that a format uses only known letters.
///
/// # Errors
/// The unknown letter.
pub fn check_format(format: &str) -> Result<(), Failure> {
    let nothing = RunReport {
        command: Vec::new(),
        end: End::Exited(0),
        elapsed_ns: 0,
        rusage: Rusage::default(),
        resident_floor_kib: 0,
        tree: Err(String::new()),
        group: None,
    };
    gnu::text(format, &nothing)
        .map(|_| ())
        .map_err(|why| Failure::usage(format!("--format: {why}")))
}

/// Writes the report and the JSON.
///
/// # Errors
/// One of them cannot be written; the other one is.
pub fn write(
    report: &RunReport,
    format: Format,
    to: Option<&Path>,
    json: Option<&Path>,
) -> Result<(), Failure> {
    // The fixed formats have no place for this note.
    if let (Some(what), false) = (nameless(report), format == Format::Words) {
        complain(&what);
    }
    let text = match format {
        Format::None => String::new(),
        Format::Words => run::text(report),
        Format::Posix => run::posix(report),
        Format::Letters(letters) => gnu::text(letters, report).map_err(Failure::usage)?,
    };
    put(&text, to, &format!("{}\n", run::json(report)), json)
}

fn nameless(report: &RunReport) -> Option<String> {
    report.tree.as_ref().ok().and_then(run::nameless)
}

/// Writes the text and the JSON to their files.
///
/// # Errors
/// One of them cannot be written; the other one is.
pub fn put(
    text: &str,
    to: Option<&Path>,
    object: &str,
    json: Option<&Path>,
) -> Result<(), Failure> {
    let written = match to {
        _ if text.is_empty() => Ok(()),
        Some(path) => file::put(path, text),
        None => std::io::stderr().write_all(text.as_bytes()).map_err(output::not_written),
    };
    match json {
        Some(path) if path == Path::new("-") => output::print(object)?,
        Some(path) => file::put(path, object)?,
        None => {}
    }
    written
}
