//! `exactop diff`: where the difference between two stretches of recorded time went.

use super::record::directory;
use super::stretch;
use crate::failure::{complain, Failure};
use crate::options::parse::{self, Word};
use crate::options::time::{now, shown};
use crate::output;
use crate::rights::{self, Origin, Role};
use clap::Args;
use exactop_recording::{Recording, When};
use exactop_sums::{json, text, By, Difference, Least, Per, Stretch, Work};
use std::path::{Path, PathBuf};

/// What `--help` ends with.
pub const NOTES: &str = "\
Examples:
  exactop diff before.rec after.rec             two recordings, all of each
  exactop diff -a '02:00+10m' -b '03:10+10m'    two stretches of what 'exactop record' keeps
  exactop diff -a '02:00+10m' -b '03:10+10m' --by unit web1.rec web2.rec
  exactop diff --per work=exits before.rec after.rec

A stretch has the windows that end in it. The changes of all rows and of unnamed time are the change of
busy time, to the nanosecond; idle, steal and interrupts change by the same the other way round where both
stretches have as much CPU time. A difference is beyond noise if the windows of one side differ from those of the
other more than dealing them out anew at random explains, over all rows together in 99 of 100 cases, and if it
comes to 0.2 % of a CPU (--least) and 3 % of the row (--least-of-row). A time of day is the last one before the recording ends.";

/// What rows stand for.
pub const BYS: &[Word<By>] = &[
    ("command", By::Command, "Command names, what exited included; the kernel's workers by pool"),
    ("cgroup", By::Cgroup, "Control groups"),
    ("unit", By::Unit, "Units of systemd, by the names of their control groups"),
    ("container", By::Container, "Containers; those of pods as NAMESPACE/POD/CONTAINER"),
    ("pod", By::Pod, "Pods, as NAMESPACE/POD"),
    ("namespace", By::Namespace, "Namespaces of kubernetes"),
    ("user", By::User, "Users; whose exited processes were is not recorded"),
    ("process", By::Process, "Single processes; what exited by command name"),
];

/// What to compare.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// Directories or files [default: where 'exactop record' records]; one is both sides'
    #[arg(value_name = "DIR|FILE", num_args = 0..=2)]
    paths: Vec<PathBuf>,
    /// The first stretch: '02:00+10m', '2h ago+30m' [default: all of it]
    #[arg(short, value_name = "TIME+LENGTH")]
    a: Option<String>,
    /// The second one
    #[arg(short, value_name = "TIME+LENGTH")]
    b: Option<String>,
    /// What rows stand for
    #[arg(long, value_parser = parse::one_of(BYS), default_value = "command")]
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
}

impl DiffArgs {
    fn least(&self) -> Least {
        Least { of_cpu_pct: self.least, of_row_pct: self.least_of_row }
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
    [in_a, in_b].into_iter().try_for_each(|text| stretch::check(text, &now))?;
    if typed.paths.len() < 2 && (typed.a.is_none() || typed.b.is_none()) {
        let why = "give two recordings, or two stretches of one: -a '02:00+10m' -b '03:10+10m'";
        return Err(Failure::usage(why));
    }
    let first = directory(typed.paths.first())?;
    let second = typed.paths.get(1).map_or_else(|| first.clone(), PathBuf::clone);
    rights::reduce(Role::Text, Origin::None, &[&first, &second]);
    let read = |path, time, name| {
        let recording = open(path)?;
        let when = stretch::of(time, &now, &recording)?;
        side(recording, when, name, typed)
    };
    let (a, b) = (read(&first, in_a, "A")?, read(&second, in_b, "B")?);
    let difference = Difference::from_least(a, b, typed.per, typed.least());
    let clock = |ns| shown(ns, &now);
    let rows = usize::try_from(typed.rows).unwrap_or(usize::MAX);
    output::print(match typed.json {
        true => json::difference(&difference),
        false => text::difference(&difference, rows, &clock),
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
