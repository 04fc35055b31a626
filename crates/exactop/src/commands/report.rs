//! `exactop report`: reports what happened in a recorded time range, in words, figures and
//! pictures.

use super::diff::open;
use crate::failure::Failure;
use crate::options::of_recording::{self, PlaceArgs, TimeArgs};
use crate::options::parse;
use crate::options::time::{now, shown};
use crate::output;
use crate::rights::{self, Origin, Role};
use clap::{ArgGroup, Args};
use exactop_sums::{report, Grouping, Stretch};

/// The notes at the end of `--help`.
pub const NOTES: &str = "\
A time range holds the windows that end in it; without -t it is the whole recording. Each account is the sum
of that account over the windows, to the nanosecond. A time of day is the last one before the recording ends.";

/// Options of `exactop report`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("form").args(["json", "markdown", "html"]))]
pub struct ReportArgs {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    part: TimeArgs,
    /// Sum CPU time by this
    #[arg(long, value_parser = parse::by(&Grouping::MACHINE), default_value = "command")]
    by: Grouping,
    /// Print at most N rows
    #[arg(long, short_alias = 'n', value_name = "N", value_parser = parse::count, default_value = "20", allow_hyphen_values = true)]
    rows: u64,
    /// Print one JSON object: all rows, all counters, pieces of time
    #[arg(long)]
    json: bool,
    /// Print Markdown, without pictures
    #[arg(long)]
    markdown: bool,
    /// Print one HTML file with its pictures
    #[arg(long)]
    html: bool,
}

/// Writes the report.
///
/// # Errors
/// A file cannot be read, or the time range holds no window.
pub fn run(typed: &ReportArgs) -> Result<(), Failure> {
    let now = now();
    let (path, time) = (typed.place.path()?, typed.part.time.as_deref());
    of_recording::check(time)?;
    rights::reduce(Role::Text, Origin::None, &[&path]);
    let (recording, when) = of_recording::part(time, &now, open(&path)?)?;
    let stretch = Stretch::read(recording, when, typed.by, None).map_err(Failure::failed)?;
    if stretch.windows == 0 {
        return Err(of_recording::no_window(time));
    }
    let clock = |ns| shown(ns, &now);
    let rows = usize::try_from(typed.rows).unwrap_or(usize::MAX);
    if typed.json {
        return output::print(report::json(&stretch));
    }
    let page = report::page(&stretch, rows, typed.html, &clock).map_err(Failure::failed)?;
    output::print(match (typed.html, typed.markdown) {
        (true, _) => page.html(),
        (_, true) => page.markdown(),
        _ => page.text(),
    })
}
