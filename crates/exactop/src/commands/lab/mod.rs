//! `exactop lab`: runs scheduler experiments as measurements.

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

/// The notes at the end of `--help`.
pub const NOTES: &str = "\
An experiment of your own is a file like those that 'exactop lab show NAME --toml' prints:
  exactop lab show weight --toml > mine.toml; exactop lab run ./mine.toml

Exit status: 0 done, whatever the verdicts; 1 something failed; 2 wrong use; 128+N ended by signal N.
Finished trials are kept; 'exactop lab report DIR' reports them.";

/// Subcommands of `exactop lab`.
#[derive(Debug, Subcommand)]
pub enum LabArgs {
    /// List the built-in experiments
    List {
        /// Print a JSON array of objects
        #[arg(long)]
        json: bool,
    },
    /// Show what an experiment asks, how it measures and what it predicts
    Show {
        /// Name or file of the experiment
        name: String,
        /// Print the experiment's file, to start one of your own from
        #[arg(long)]
        toml: bool,
    },
    /// Measure experiments, then report
    Run(LabRunArgs),
    /// Write the report of a run again, also of an unfinished run
    Report {
        /// The directory that --out named
        dir: PathBuf,
    },
    /// Compare two runs: what differs, and what cannot be distinguished
    Compare {
        /// The first run
        first: PathBuf,
        /// The second run
        second: PathBuf,
        /// Print a JSON array of objects
        #[arg(long)]
        json: bool,
    },
}

/// Options of `exactop lab run`.
#[derive(Debug, Args)]
pub struct LabRunArgs {
    /// Run these experiments, by name or file; all: all built-in ones
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Run N trials of each condition instead of the experiment's own number
    #[arg(long, value_name = "N", value_parser = repeats)]
    repeats: Option<u32>,
    /// Use shorter windows and fewer repeats, for a first look
    #[arg(long)]
    quick: bool,
    /// Write everything into this directory [default: exactop-lab-DATE-TIME-RANDOM]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Order the trials by this seed [default: from the clock; it is printed]
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
/// A file could not be read or written, or a measurement failed.
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
                return Err(Failure::failed(
                    "the two runs have no condition in common: give runs of one experiment",
                ));
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

/// A foreign text: its line breaks stay, and other control characters are escaped.
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
        let predicted = predict::prediction(experiment, condition, cpus);
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
