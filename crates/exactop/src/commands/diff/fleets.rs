//! Compares two time ranges of many machines' books.

use super::how::How;
use crate::commands::export::StoreArgs;
use crate::commands::fleet::{complain_of, reached};
use crate::failure::Failure;
use crate::options::time::{shown, when};
use crate::output;
use clap::Args;
use exactop_export::clickhouse::{Address, Client};
use exactop_fleet::compare::{json, page, Basis, BasisKind, Difference, Measure, Per, Side};
use exactop_fleet::{Books, FleetError, Parquet};
use exactop_recording::{Recording, TimeRange};
use exactop_sums::{Grouping, Per as OnePer};
use jiff::Zoned;
use std::path::Path;

/// Options for the books of many machines.
#[derive(Debug, Args)]
#[command(next_help_heading = "Of many machines")]
pub struct ManyArgs {
    /// Compare hosts with this text in their names, which were changed, against all others
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = text)]
    changed: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
}

/// A non-empty part of a host name.
fn text(text: &str) -> Result<String, String> {
    match text {
        "" => Err("write a part of the names of the changed hosts".into()),
        text => Ok(text.into()),
    }
}

/// Where the books of one side are.
#[derive(Debug)]
pub enum SideLocation<'a> {
    /// A directory or a file, of one machine or of many.
    Path(&'a Path),
    /// A ClickHouse store, and its port.
    Store(Box<Client>, u16),
}

impl ManyArgs {
    /// Parses a place. For a store it reads all files that the connection needs.
    ///
    /// # Errors
    /// The address is invalid, or a file cannot be read.
    pub fn place<'a>(&self, path: &'a Path) -> Result<SideLocation<'a>, Failure> {
        let Some(url) = path.to_str().filter(|text| text.contains("://")) else {
            return Ok(SideLocation::Path(path));
        };
        let address = Address::read(url).map_err(Failure::usage)?;
        let port = address.port();
        Ok(SideLocation::Store(Box::new(self.store.asking(address)?), port))
    }

    /// Checks that no option was given that needs the books of many machines.
    ///
    /// # Errors
    /// Such an option was given.
    pub fn nothing(&self) -> Result<(), Failure> {
        match self.changed.is_some() {
            false => Ok(()),
            true => Err(Failure::usage(
                "--changed needs the books of many machines, and these are recordings of one: leave it out",
            )),
        }
    }

    /// Checks that no store option was given without a store.
    ///
    /// # Errors
    /// Such an option was given.
    pub fn no_store(&self) -> Result<(), Failure> {
        self.store.nothing()
    }
}

impl<'a> SideLocation<'a> {
    /// The path, if this is a directory or a file.
    pub fn path(&self) -> Option<&'a Path> {
        match self {
            SideLocation::Path(path) => Some(path),
            SideLocation::Store(..) => None,
        }
    }

    /// TCP port of the store.
    pub fn port(&self) -> Option<u16> {
        match self {
            SideLocation::Path(_) => None,
            SideLocation::Store(_, port) => Some(*port),
        }
    }

    /// Opens the books; `None`: the place holds a recording of one machine, or nothing.
    ///
    /// # Errors
    /// The store does not answer, or a directory holds both kinds.
    pub fn books(self) -> Result<Option<Box<dyn Books>>, Failure> {
        let path = match self {
            SideLocation::Store(client, _) => {
                return Ok(Some(Box::new(reached(*client)?)));
            }
            SideLocation::Path(path) => path,
        };
        let (books, is_of_one) = (Parquet::open(path), Recording::open(path).is_ok());
        let books = match books {
            Ok(books) => books,
            Err(FleetError::Nothing { .. }) => return Ok(None),
            Err(_) if is_of_one || !path.is_dir() => return Ok(None),
            Err(error) => return Err(Failure::failed(error)),
        };
        if is_of_one {
            return Err(Failure::usage(format!(
                "{}: a recording of one machine and accounts.parquet of many are in it: name one of them",
                path.display()
            )));
        }
        complain_of(&books);
        Ok(Some(Box::new(books)))
    }
}

/// Compares two time ranges. Without second books, both come from the first.
///
/// # Errors
/// A file cannot be read, or the time range holds no window.
pub fn run(
    how: &How,
    many: &ManyArgs,
    first: &dyn Books,
    second: Option<&dyn Books>,
    now: &Zoned,
) -> Result<(), Failure> {
    // A dimension that only single machines record is refused before anything is read.
    let by = how.by;
    if !Grouping::FLEET.contains(&by) {
        return Err(Failure::usage(FleetError::NotSummed { by }));
    }
    let per = match how.per {
        OnePer::Cpu => Per::Cpu,
        OnePer::Wall => Per::Wall,
        OnePer::Work(_) => {
            return Err(Failure::usage(
                "--per work: the books of many machines do not count it: write cpu or wall",
            ));
        }
    };
    let measure = Measure { per, least: how.least(), changed: many.changed.clone() };
    let now_ns = now.timestamp().as_nanosecond();
    let read = |books: &dyn Books, text: Option<&str>, name: &str| {
        let when = match text {
            Some(text) => when(text, now, None).map_err(Failure::usage)?,
            None => TimeRange::default(),
        };
        let side = Side::read(books, when, by, now_ns).map_err(failed)?;
        side.ok_or_else(|| {
            Failure::failed(format!(
                "no window of any host ends in time range {name}: give another -a or -b"
            ))
        })
    };
    let (a, b) = (
        read(first, how.a.as_deref(), "A")?,
        read(second.unwrap_or(first), how.b.as_deref(), "B")?,
    );
    let difference = Difference::between(a, b, measure);
    is_there(&difference.basis, many.changed.as_deref())?;
    output::print(match how.json {
        true => json(&difference),
        false => page(&difference, how.most(), &|ns| shown(ns, now)).text(),
    })
}

fn failed(error: FleetError) -> Failure {
    Failure::failed(error)
}

/// No host matches `--changed`: the name was probably mistyped.
fn is_there(basis: &Basis, changed: Option<&str>) -> Result<(), Failure> {
    match (basis.kind, basis.hosts(), changed) {
        (BasisKind::Rollout, (0, _), Some(text)) => Err(Failure::failed(format!(
            "--changed: no host with '{text}' in its name is in both time ranges: give another text"
        ))),
        _ => Ok(()),
    }
}
