//! `exactop diff`: where the difference between two stretches of recorded time went.

use super::fleet::diff::{self as many, ManyArgs};
use crate::failure::{complain, Failure};
use crate::options::of_recording::{self, directory};
use crate::options::parse;
use crate::options::time::{now, shown};
use crate::output;
use crate::rights::{self, Beside, Origin, Role};
use clap::Args;
use exactop_recording::{Recording, When};
use exactop_sums::{json, text, By, Difference, Least, Per, Stretch, Work};
use jiff::Zoned;
use std::path::{Path, PathBuf};

/// What `--help` ends with.
pub const NOTES: &str = "\
Examples:
  exactop diff before.rec after.rec             two recordings, all of each
  exactop diff -a '02:00+10m' -b '03:10+10m'    two stretches of what 'exactop record' keeps
  exactop diff -a '02:00+10m' -b '03:10+10m' --by unit web1.rec web2.rec
  exactop diff --per work=exits before.rec after.rec
  exactop diff -a '02:00+1h' -b '03:00+1h' /srv/books   many machines, from Parquet or a ClickHouse (https://...)

A stretch has the windows that end in it. The changes of all rows and of unnamed time are the change of
busy time, to the nanosecond; idle, steal and interrupts change by the same the other way round where both
stretches have as much CPU time. A difference is beyond noise if the windows of one side differ from those of the
other more than dealing them out anew at random explains, over all rows together in 99 of 100 cases, and if it
comes to 0.2 % of a CPU (--least) and 3 % of the row (--least-of-row). A time of day is the last one before the recording ends.

Of many machines what is weighed are hosts, not windows: each against itself where they are the same, else one side
against the other (docs/fleet.md).";

/// What to compare.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// Recordings [default: where 'exactop record' records], or the books of many machines; one is both sides'
    #[arg(value_name = "DIR|FILE|URL", num_args = 0..=2)]
    paths: Vec<PathBuf>,
    /// The recording of both sides, named as 'exactop record' names it
    #[arg(long, value_name = "DIR|FILE", conflicts_with = "paths")]
    dir: Option<PathBuf>,
    /// The first stretch: '02:00+10m', '2h ago+30m' [default: all of it]
    #[arg(short, value_name = "FROM[+LENGTH]")]
    a: Option<String>,
    /// The second one
    #[arg(short, value_name = "FROM[+LENGTH]")]
    b: Option<String>,
    /// What rows stand for
    #[arg(long, value_parser = parse::by(&By::MACHINE), default_value = "command")]
    by: By,
    /// What CPU time is divided by: cpu (time of all CPUs), wall (time), work=COUNTER (the row's own: exits, syscalls ...)
    #[arg(long, value_name = "cpu|wall|work=COUNTER", value_parser = per, default_value = "cpu")]
    per: Per,
    /// Per cent of one CPU that a change comes to at least to be more than noise
    #[arg(long, value_name = "PCT", value_parser = least, default_value = "0.2", allow_hyphen_values = true)]
    least: f64,
    /// Per cent of what a row had where it had more, likewise
    #[arg(long, value_name = "PCT", value_parser = least_of_row, default_value = "3", allow_hyphen_values = true)]
    least_of_row: f64,
    /// Rows of each kind, in text
    #[arg(long, short_alias = 'n', value_name = "N", value_parser = parse::count, default_value = "15", allow_hyphen_values = true)]
    rows: u64,
    /// One JSON object, all rows
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    many: ManyArgs,
}

impl DiffArgs {
    fn least(&self) -> Least {
        Least { of_cpu_pct: self.least, of_row_pct: self.least_of_row }
    }

    fn most(&self) -> usize {
        usize::try_from(self.rows).unwrap_or(usize::MAX)
    }

    fn of_many(&self) -> many::Asked<'_> {
        many::Asked {
            a: self.a.as_deref(),
            b: self.b.as_deref(),
            by: self.by,
            per: self.per,
            least: self.least(),
            rows: self.most(),
            json: self.json,
            many: &self.many,
        }
    }
}

fn per(text: &str) -> Result<Per, String> {
    let work = |name: &str| Work::all().find(|work| work.name() == name);
    match text.split_once('=') {
        None if text == "cpu" => Ok(Per::Cpu),
        None if text == "wall" => Ok(Per::Wall),
        Some(("work", name)) => work(name).map(Per::Work).ok_or_else(|| {
            let all: Vec<&str> = Work::all().map(Work::name).collect();
            format!("work is counted in one of {}", all.join(", "))
        }),
        _ => Err("write cpu, wall or work=COUNTER".into()),
    }
}

fn least(text: &str) -> Result<f64, String> {
    parse::percent(text).map_err(|_| "write per cent of one CPU, 0 to 100".into())
}

fn least_of_row(text: &str) -> Result<f64, String> {
    parse::percent(text).map_err(|_| "write per cent of the row, 0 to 100".into())
}

/// Compares.
///
/// # Errors
/// What cannot be read, and where there is nothing.
pub fn run(typed: &DiffArgs) -> Result<(), Failure> {
    let now = now();
    let (in_a, in_b) = (typed.a.as_deref(), typed.b.as_deref());
    [in_a, in_b].into_iter().try_for_each(of_recording::check)?;
    if typed.paths.len() < 2 && (typed.a.is_none() || typed.b.is_none()) {
        let why = "give two recordings, or two stretches of one: -a '02:00+10m' -b '03:10+10m'";
        return Err(Failure::usage(why));
    }
    let first = directory(typed.dir.as_ref().or(typed.paths.first()))?;
    let second = typed.paths.get(1);
    let place = |path| typed.many.place(path);
    let (of_a, of_b) = (place(&first)?, second.map(|path| place(path)).transpose()?);
    let places = || [Some(&of_a), of_b.as_ref()].into_iter().flatten();
    let readable: Vec<&Path> = places().filter_map(many::Place::path).collect();
    let connects: Vec<u16> = places().filter_map(many::Place::port).collect();
    if connects.is_empty() {
        typed.many.no_store()?;
    }
    let beside = Beside { readable: &readable, connects: &connects, ..Beside::default() };
    rights::reduce_beside(Role::Text, Origin::None, &beside);
    let (in_a, in_b) = (of_a.books()?, of_b.map(many::Place::books).transpose()?);
    match (in_a, in_b) {
        (None, None | Some(None)) => one(typed, &first, second.unwrap_or(&first), &now),
        (Some(a), None) => many::run(&*a, None, &typed.of_many()),
        (Some(a), Some(Some(b))) => many::run(&*a, Some(&*b), &typed.of_many()),
        (a, _) => {
            let (one, many) = if a.is_none() { ("first", "second") } else { ("second", "first") };
            Err(Failure::usage(format!(
                "the {many} has the books of many machines and the {one} has not: give two of one kind"
            )))
        }
    }
}

/// Recordings of one machine, or of two.
fn one(typed: &DiffArgs, first: &Path, second: &Path, now: &Zoned) -> Result<(), Failure> {
    typed.many.nothing()?;
    let read = |path, time: &Option<String>, name| {
        let (recording, when) = of_recording::part(time.as_deref(), now, open(path)?)?;
        side(recording, when, name, typed)
    };
    let (a, b) = (read(first, &typed.a, "A")?, read(second, &typed.b, "B")?);
    let difference = Difference::from_least(a, b, typed.per, typed.least());
    let clock = |ns| shown(ns, now);
    output::print(match typed.json {
        true => json::difference(&difference),
        false => text::difference(&difference, typed.most(), &clock),
    })
}

fn side(
    recording: Recording,
    when: When,
    name: &str,
    typed: &DiffArgs,
) -> Result<Stretch, Failure> {
    let path = recording.path().to_path_buf();
    let stretch = Stretch::read(recording, when, typed.by, typed.per.work());
    let stretch = stretch.map_err(Failure::failed)?;
    match stretch.windows {
        0 => Err(Failure::failed(format!(
            "no window of {} ends in {name} ('exactop record list' says what is there)",
            path.display()
        ))),
        _ => Ok(stretch),
    }
}

/// Opens a recording; what cannot be read of it is said.
///
/// # Errors
/// Nothing of it can be read.
pub fn open(path: &Path) -> Result<Recording, Failure> {
    let recording = Recording::open(path).map_err(Failure::failed)?;
    recording.unreadable().iter().for_each(|error| complain(&error.to_string()));
    Ok(recording)
}
