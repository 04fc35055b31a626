//! `exactop fleet report`: reports what happened on all machines in a time range.

use super::{complain_of, reached, NO_WINDOW};
use crate::commands::export::StoreArgs;
use crate::failure::Failure;
use crate::options::parse::{self, Word};
use crate::options::time::{now, shown, when};
use crate::output::file::Sink;
use crate::output::{self, Signals};
use crate::rights::{self, ExtraAccess, Origin, Role};
use clap::Args;
use exactop_export::clickhouse::Address;
use exactop_fleet::report::{page, Figures, Grouping, Report};
use exactop_fleet::Parquet;
use exactop_recording::TimeRange;
use std::path::{Path, PathBuf};

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Text,
    Markdown,
    Html,
}

const FORMATS: &[Word<Format>] = &[
    ("text", Format::Text, "For a terminal"),
    ("markdown", Format::Markdown, "Without pictures"),
    ("html", Format::Html, "One file with its pictures"),
];

/// Options of `exactop fleet report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Read a directory of Parquet files, or ask a ClickHouse at https://HOST:8443
    #[arg(long, value_name = "DIR|URL")]
    from: PathBuf,
    /// Read from this time on: '14:03', 'yesterday 14:00', '2h ago', RFC 3339; with +LENGTH a time
    /// range: '03:05+15m' [default: all of it]
    #[arg(short, long, value_name = "FROM[+LENGTH]")]
    time: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
    /// Sum CPU time by this
    #[arg(long, value_parser = parse::by(&Grouping::FLEET), default_value = "command")]
    by: Grouping,
    /// Print at most N rows
    #[arg(long, short_alias = 'n', value_name = "N", value_parser = parse::count, default_value = "20", allow_hyphen_values = true)]
    rows: u64,
    /// Print in this format
    #[arg(long, value_parser = parse::one_of(FORMATS), default_value = "text")]
    format: Format,
    /// Write to this file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl ReportArgs {
    /// Opens the books, and gives up the right to read anything else, or to write outside of the
    /// report's directory.
    fn open(&self) -> Result<Box<dyn Figures>, Failure> {
        let into = self.output.as_deref().map(above);
        let written = into.as_deref();
        let beside = ExtraAccess { written: written.as_slice(), ..ExtraAccess::default() };
        let Some(url) = self.from.to_str().filter(|text| text.contains("://")) else {
            self.store.nothing()?;
            let readable = [&*self.from];
            let beside = ExtraAccess { readable: &readable, ..beside };
            rights::reduce_beside(Role::Text, Origin::None, &beside);
            let books = Parquet::open(&self.from).map_err(Failure::failed)?;
            complain_of(&books);
            return Ok(Box::new(books));
        };
        let address = Address::read(url).map_err(Failure::usage)?;
        let connects = [address.port()];
        let client = self.store.asking(address)?;
        rights::reduce_beside(
            Role::Text,
            Origin::None,
            &ExtraAccess { connects: &connects, ..beside },
        );
        Ok(Box::new(reached(client)?))
    }
}

/// Writes the report.
///
/// # Errors
/// A file cannot be read or written, or the time range holds no window.
pub fn run(typed: &ReportArgs) -> Result<(), Failure> {
    let now = now();
    let when = match typed.time.as_deref() {
        Some(text) => when(text, &now, None).map_err(Failure::usage)?,
        None => TimeRange::default(),
    };
    let books = typed.open()?;
    let now_ns = now.timestamp().as_nanosecond();
    let report = Report::read(&*books, when, typed.by, now_ns).map_err(Failure::failed)?;
    let report = report.ok_or_else(|| Failure::failed(NO_WINDOW))?;
    let rows = usize::try_from(typed.rows).unwrap_or(usize::MAX);
    let drawn = typed.format == Format::Html;
    let page = page(&report, rows, drawn, &|ns| shown(ns, &now)).map_err(Failure::failed)?;
    let text = match typed.format {
        Format::Text => page.text(),
        Format::Markdown => page.markdown(),
        Format::Html => page.html(),
    };
    // The file is opened only now, so that an error does not overwrite an earlier report.
    match typed.output.as_deref() {
        Some(path) => Sink::open(path, &Signals::new()?)?.write(text.as_bytes()),
        None => output::print(text),
    }
}

/// The directory that holds a file.
fn above(path: &Path) -> PathBuf {
    match path.parent() {
        Some(above) if above != Path::new("") => above.into(),
        _ => PathBuf::from("."),
    }
}
