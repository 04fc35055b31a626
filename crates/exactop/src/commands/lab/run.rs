//! Runs trial after trial and writes each result at once.

use super::{failed, written, LabRunArgs};
use crate::failure::Failure;
use crate::output::{self, bar, Signals};
use exactop_files::{zone, Directory, FileError};
use exactop_lab::definition::Experiment;
use exactop_lab::machine::MachineFacts;
use exactop_lab::plan::{self, Turn};
use exactop_lab::record::{self, Recorder, Schema};
use exactop_lab::trial::Lab;
use exactop_lab::{built_in, read_back, report, LabError};
use exactop_model::text::escape::harmless;
use std::cell::RefCell;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// Measures, then reports, also after a signal or a failure.
///
/// # Errors
/// The failure, or the signal that ended the run.
pub fn run(options: &LabRunArgs) -> Result<(), Failure> {
    let experiments = experiments(options)?;
    let signals = Signals::new()?;
    // The failure that interrupted a wait.
    let ended = RefCell::new(None);
    let mut wait = |then: Instant| {
        signals.sleep_until(then).map_err(|failure| {
            *ended.borrow_mut() = Some(failure);
            LabError::Stopped
        })
    };
    let exactop = std::env::current_exe().map_err(Failure::cannot("find this program"))?;
    let mut lab = Lab::open(exactop, &mut wait).map_err(failed)?;
    let (experiments, skipped) = possible(&lab, experiments);
    let out = directory(options).map_err(Failure::failed)?;
    let run = record::Run {
        schema: Schema::this(),
        seed: options.seed.unwrap_or_else(seed),
        quick: options.quick,
        began: now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        exactop: env!("CARGO_PKG_VERSION").into(),
        machine: MachineFacts::read(lab.cpus.len(), lab.lab_cpu),
        experiments,
        skipped,
    };
    let mut recorder = Recorder::new(out, &run).map_err(failed)?;
    let into = harmless(&recorder.directory().path().display().to_string());
    let _ = writeln!(std::io::stderr(), "seed {}, into {into}", run.seed);
    let measured = measure(&mut lab, &run, &mut recorder);
    drop(lab);
    let reported = reported(recorder.directory());
    match measured {
        Ok(()) => reported,
        Err(LabError::Stopped) => {
            let _ = reported;
            Err(ended.into_inner().unwrap_or(Failure::Reported))
        }
        Err(error) => {
            let _ = reported;
            Err(failed(error))
        }
    }
}

/// The requested experiments, after the controls.
fn experiments(options: &LabRunArgs) -> Result<Vec<Experiment>, Failure> {
    let mut all = vec![built_in::controls()];
    for name in &options.names {
        match name.as_str() {
            "all" => all.extend(built_in::all()),
            name => all.push(built_in::find(name).map_err(failed)?),
        }
    }
    for (i, experiment) in all.iter().enumerate() {
        if all[..i].iter().any(|other| other.name == experiment.name) {
            let name = &experiment.name;
            return Err(Failure::usage(format!("{name} is there twice: give each name once")));
        }
    }
    let as_run = |experiment: Experiment| {
        let mut experiment = if options.quick { experiment.quickened() } else { experiment };
        experiment.repeats = options.repeats.unwrap_or(experiment.repeats);
        experiment
    };
    Ok(all.into_iter().map(as_run).collect())
}

/// The experiments without conditions that cannot run here, and the reasons.
fn possible(lab: &Lab, all: Vec<Experiment>) -> (Vec<Experiment>, Vec<(String, String)>) {
    let mut skipped = Vec::new();
    let mut kept = Vec::new();
    for mut experiment in all {
        let lacks: Vec<Option<String>> =
            experiment.conditions.iter().map(|c| lab.lacks(&experiment, c)).collect();
        let mut reasons = lacks.into_iter();
        let name = experiment.name.clone();
        experiment.conditions.retain(|condition| match reasons.next().flatten() {
            Some(why) => {
                skipped.push((format!("{name}, {}", condition.name), why));
                false
            }
            None => true,
        });
        if !experiment.conditions.is_empty() {
            kept.push(experiment);
        }
    }
    (kept, skipped)
}

fn measure(lab: &mut Lab, run: &record::Run, recorder: &mut Recorder) -> Result<(), LabError> {
    let turns: Vec<(&Experiment, Turn)> = run
        .experiments
        .iter()
        .flat_map(|e| plan::turns(e, run.seed).into_iter().map(move |turn| (e, turn)))
        .collect();
    if turns.len() > read_back::TRIALS {
        let (n, most) = (turns.len(), read_back::TRIALS);
        return Err(LabError::Machine(format!("{n} trials: at most {most}: give fewer --repeats")));
    }
    let bar = bar("{wide_bar} {pos}/{len}, {eta} left, {msg}", turns.len() as u64);
    for (number, (experiment, turn)) in turns.iter().enumerate() {
        let condition = &experiment.conditions[turn.condition].name;
        bar.set_message(harmless(&format!("{}, {condition}", experiment.name)));
        let point = lab.trial(experiment, *turn, number)?;
        recorder.add(&point)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

/// Writes the report of the written results.
fn reported(out: &Directory) -> Result<(), Failure> {
    let (run, points) = read_back::read(out).map_err(failed)?;
    report::write(out, &run, &points).map_err(failed)?;
    output::print(report::summary(&run, &points) + &written(out.path()))
}

/// The requested directory, or a new one with an unpredictable name.
fn directory(options: &LabRunArgs) -> Result<Directory, FileError> {
    match &options.out {
        Some(path) => Directory::open_or_make(path),
        None => {
            let begin = now().strftime("exactop-lab-%Y%m%d-%H%M%S").to_string();
            Directory::make_unguessable(Path::new(&begin))
        }
    }
}

fn now() -> jiff::Zoned {
    jiff::Timestamp::now().to_zoned(zone::local())
}

fn seed() -> u64 {
    // Short enough to type.
    jiff::Timestamp::now().as_nanosecond() as u64 % 1_000_000_000
}
