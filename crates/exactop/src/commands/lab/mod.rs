//! `exactop lab`: scheduler experiments as measurements.

mod run;

use crate::failure::Failure;
use crate::options::parse;
use crate::output;
use clap::{Args, Subcommand};
use exactop_files::Directory;
use exactop_lab::definition::{Bound, Condition, Experiment};
use exactop_lab::{built_in, compare, predict, read_back, record, report, LabError};
use exactop_model::text::escape::harmless;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What `--help` ends with.
pub const NOTES: &str = "\
Examples:
  exactop lab list
  exactop lab run nice-share --quick
  exactop lab run all --out before       then, on another kernel,
  exactop lab run all --out after
  exactop lab compare before after

An experiment of your own is a file like those that 'exactop lab show NAME --toml' prints:
  exactop lab show weight --toml > mine.toml; exactop lab run ./mine.toml

Exit status: 0 done, whatever the verdicts; 1 something failed; 2 wrong use; 128+N ended by signal N.
Trials that were finished are kept, and 'exactop lab report DIR' writes the report of them.";

/// Scheduler experiments.
#[derive(Debug, Subcommand)]
pub enum LabArgs {
    /// List the experiments that are built in
    List {
        /// An array of objects
        #[arg(long)]
        json: bool,
    },
    /// Say what an experiment asks, how it measures and what it predicts
    Show {
        /// Its name, or a file
        name: String,
        /// The file itself, to make one of your own from
        #[arg(long)]
        toml: bool,
    },
    /// Measure
    Run(LabRunArgs),
    /// Write the report of a run again, also of one that was not finished
    Report {
        /// What --out of the run was
        dir: PathBuf,
    },
    /// Two runs side by side: what differs, and what cannot be told apart
    Compare {
        /// A run
        first: PathBuf,
        /// Another
        second: PathBuf,
        /// An array of objects
        #[arg(long)]
        json: bool,
    },
}

/// What to measure.
#[derive(Debug, Args)]
pub struct LabRunArgs {
    /// Names or files of experiments; all: all that are built in
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Trials of each condition, instead of as many as the experiment says
    #[arg(long, value_name = "N", value_parser = repeats)]
    repeats: Option<u32>,
    /// Shorter windows and fewer repeats: to see what comes
    #[arg(long)]
    quick: bool,
    /// Where everything is written to [default: exactop-lab-DATE-TIME-RANDOM]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// What decides the order of trials [default: by the clock; it is printed]
    #[arg(long, value_name = "S", value_parser = parse::number::<u64>)]
    seed: Option<u64>,
}

fn repeats(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(n @ 1..=10_000) => Ok(n),
        _ => Err("write how many trials of each condition, 1 to 10000".into()),
    }
}

/// Lists, shows, runs, reports or compares experiments.
///
/// # Errors
/// What could not be read, written or measured.
pub fn run(typed: &LabArgs) -> Result<(), Failure> {
    match typed {
        LabArgs::List { json: true } => print_json(&listed()),
        LabArgs::List { json: false } => output::print(list()),
        LabArgs::Show { name, toml } => show(name, *toml),
        LabArgs::Run(options) => run::run(options),
        LabArgs::Report { dir } => {
            let held = Directory::open(dir).map_err(Failure::failed)?;
            let (run, points) = read_back::read(&held).map_err(failed)?;
            report::write(&held, &run, &points).map_err(failed)?;
            output::print(report::summary(&run, &points) + &written(dir))
        }
        LabArgs::Compare { first, second, json } => {
            let pairs = compare::compare(&read(first)?, &read(second)?);
            if pairs.is_empty() {
                return Err(Failure::failed("the two runs have no condition in common"));
            }
            match json {
                true => print_json(&pairs),
                false => output::print(compare::text(&pairs)),
            }
        }
    }
}

fn read(dir: &Path) -> Result<(record::Run, Vec<record::Point>), Failure> {
    let held = Directory::open_to_read(dir).map_err(Failure::failed)?;
    read_back::read(&held).map_err(failed)
}

fn failed(error: LabError) -> Failure {
    match error {
        LabError::Definition { .. } => Failure::usage(error),
        other => Failure::failed(other),
    }
}

fn written(dir: &Path) -> String {
    let dir = harmless(&dir.display().to_string());
    format!("\nwritten to {dir}: report.html, report.md, report.json, points.csv\n")
}

fn list() -> String {
    let mut out = String::new();
    for experiment in built_in::all() {
        let _ = writeln!(out, "{:<14} {}", experiment.name, experiment.title);
    }
    out
}

fn listed() -> Vec<serde_json::Value> {
    built_in::all()
        .iter()
        .map(|e| {
            serde_json::json!({
                "name": e.name, "title": e.title, "question": e.question,
                "conditions": e.conditions.len(), "repeats": e.repeats, "window_s": e.window_s,
            })
        })
        .collect()
}

fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::failed)?;
    output::print(text + "\n")
}

fn show(name: &str, toml: bool) -> Result<(), Failure> {
    let experiment = built_in::find(name).map_err(failed)?;
    match (toml, built_in::text_of(name)) {
        (true, Some(text)) => output::print(text),
        (true, None) => {
            let (_, text) = built_in::from_file(name).map_err(failed)?;
            output::print(by_lines(&text))
        }
        (false, _) => output::print(by_lines(&described(&experiment))),
    }
}

/// A text of someone else's: its lines stay, and nothing in them moves the cursor.
fn by_lines(text: &str) -> String {
    text.split_inclusive('\n')
        .map(|line| match line.strip_suffix('\n') {
            Some(line) => harmless(line) + "\n",
            None => harmless(line),
        })
        .collect()
}

fn described(experiment: &Experiment) -> String {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let mut out = format!("{}: {}\n\n", experiment.name, experiment.title);
    for (what, text) in [
        ("Question", &experiment.question),
        ("Method", &experiment.method),
        ("Prediction", &experiment.why),
    ] {
        let _ = writeln!(out, "{what}: {}\n", text.trim());
    }
    let _ = writeln!(
        out,
        "{} repeats, windows of {} s; quick: {} repeats, {} s\n",
        experiment.repeats,
        experiment.window_s,
        experiment.clone().quickened().repeats,
        experiment.clone().quickened().window_s,
    );
    for condition in &experiment.conditions {
        let predicted = predict::of(experiment, condition, cpus);
        let delta = condition.delta.unwrap_or(experiment.delta);
        let _ =
            writeln!(out, "  {:<36} {}", condition.name, prediction(condition, predicted, delta));
    }
    out
}

fn prediction(condition: &Condition, predicted: Option<f64>, delta: f64) -> String {
    let figure = |value| report::figure(value);
    let relative = condition.relative_to.as_ref().map_or(String::new(), |o| format!(" of {o}"));
    match (predicted, condition.bound) {
        (None, _) => "measured only".into(),
        (Some(p), Bound::Equal) => format!("{} +- {}{relative}", figure(p), figure(delta)),
        (Some(p), Bound::AtLeast) => format!("at least {}{relative}", figure(p)),
        (Some(p), Bound::AtMost) => format!("at most {}{relative}", figure(p)),
    }
}
