//! Reads a run back. It checks that a run can have written the files, because they may come from
//! anyone.

use crate::bounds::{at_most, within, FIGURE};
use crate::definition::Experiment;
use crate::record::{Point, Run, Schema, Strip, POINTS, RUN};
use crate::LabError;
use exactop_files::Directory;
use std::collections::BTreeMap;

/// Most trials of a run; at their shortest they take half a day.
pub const TRIALS: usize = 200_000;
/// Most bytes that are read of each file: more than any run writes ([`TRIALS`]).
const RUN_BYTES: u64 = 16 << 20;
const POINTS_BYTES: u64 = 512 << 20;
/// Most experiments of a run.
const EXPERIMENTS: usize = 200;
/// Most trials of a condition: the most repeats, and one that is drawn.
const OF_CONDITION: usize = 10_001;
/// Most CPUs of a machine.
const CPUS: usize = 65_536;
/// Most processes of a trial, and most points of progress of each.
const PROCESSES: usize = 65_536;
const PARTS: usize = 10_000;
/// Most pieces of a strip, and most names.
const PIECES: usize = 100_000;
const NAMES: usize = 64;
/// Longest time in a trial, ms.
const LONGEST_MS: f64 = 1e9;

/// Reads a run and its trials from a directory; ignores a truncated last line. The content is
/// checked like a typed-in definition.
///
/// # Errors
/// [`LabError`]: the file, and what is wrong with it.
pub fn read(directory: &Directory) -> Result<(Run, Vec<Point>), LabError> {
    let failed = |name: &str, why: String| LabError::file("use", directory.path().join(name), why);
    let run = parse_run(&directory.read(RUN, RUN_BYTES)?).map_err(|why| failed(RUN, why))?;
    let points = parse_points(&run, &directory.read(POINTS, POINTS_BYTES)?);
    Ok((run, points.map_err(|why| failed(POINTS, why))?))
}

/// Parses a run.
///
/// # Errors
/// What is wrong, in one line.
pub fn parse_run(bytes: &[u8]) -> Result<Run, String> {
    let run: Run = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if run.schema != Schema::this() {
        let Schema { name, version } = &run.schema;
        return Err(format!("cannot read {name} {version}, only {} 1", Schema::this().name));
    }
    check_run(&run)?;
    Ok(run)
}

/// Parses the trials of a run.
///
/// # Errors
/// The line, and what is wrong with it.
pub fn parse_points(run: &Run, bytes: &[u8]) -> Result<Vec<Point>, String> {
    let mut check = Points::from_run(run);
    let mut points = Vec::new();
    for (i, line) in bytes.split_inclusive(|&b| b == b'\n').enumerate() {
        let wrong = |why: String| format!("line {}: {why}", i + 1);
        let point: Point = match serde_json::from_slice(line) {
            Ok(point) => point,
            Err(_) if !line.ends_with(b"\n") => continue,
            Err(error) => return Err(wrong(error.to_string())),
        };
        check.next(&point).map_err(wrong)?;
        points.push(point);
    }
    Ok(points)
}

fn check_run(run: &Run) -> Result<(), String> {
    if !(1..=CPUS).contains(&run.machine.cpus) {
        return Err(format!("machine.cpus = {}: write 1 to {CPUS}", run.machine.cpus));
    }
    at_most("experiments", run.experiments.len(), EXPERIMENTS)?;
    for (i, experiment) in run.experiments.iter().enumerate() {
        experiment.check_kept().map_err(|why| format!("experiment {}: {why}", i + 1))?;
        if run.experiments[..i].iter().any(|other| other.name == experiment.name) {
            return Err(format!("experiment '{}' occurs twice: remove one", experiment.name));
        }
    }
    Ok(())
}

/// Checks trials one by one.
struct Points<'a> {
    /// Trials so far, by experiment and condition.
    seen: BTreeMap<&'a str, BTreeMap<&'a str, usize>>,
    all: usize,
}

impl<'a> Points<'a> {
    /// Starts to check the trials of a run.
    fn from_run(run: &'a Run) -> Points<'a> {
        let of = |experiment: &'a Experiment| {
            let conditions = experiment.conditions.iter().map(|c| (c.name.as_str(), 0));
            (experiment.name.as_str(), conditions.collect())
        };
        Points { seen: run.experiments.iter().map(of).collect(), all: 0 }
    }

    /// Checks the next trial.
    fn next(&mut self, point: &Point) -> Result<(), String> {
        self.all += 1;
        at_most("trials", self.all, TRIALS)?;
        let of_experiment = self.seen.get_mut(point.experiment.as_str());
        let known = of_experiment.and_then(|all| all.get_mut(point.condition.as_str()));
        let Some(count) = known else {
            let (experiment, condition) = (&point.experiment, &point.condition);
            return Err(format!(
                "the run has no experiment '{experiment}' with '{condition}': remove the line"
            ));
        };
        *count += 1;
        at_most("trials of a condition", *count, OF_CONDITION)?;
        check(point)
    }
}

fn check(point: &Point) -> Result<(), String> {
    within("value", point.value, -FIGURE..=FIGURE)?;
    for (what, part) in [
        ("steal_pct", point.steal_pct),
        ("foreign_pct", point.foreign_pct),
        ("irq_pct", point.irq_pct),
        ("unnamed_pct", point.unnamed_pct),
        ("cost_pct", point.cost_pct),
    ] {
        within(what, part, -FIGURE..=FIGURE)?;
    }
    at_most("workers", point.workers.len(), PROCESSES)?;
    at_most("progress", point.progress.len(), PROCESSES)?;
    for parts in &point.progress {
        at_most("parts of progress", parts.len(), PARTS)?;
        parts.iter().try_for_each(|&ms| within("progress", Some(ms), 0.0..=LONGEST_MS))?;
    }
    point.strip.as_ref().map_or(Ok(()), check_strip)
}

fn check_strip(strip: &Strip) -> Result<(), String> {
    at_most("names of a strip", strip.names.len(), NAMES)?;
    at_most("pieces of a strip", strip.pieces.len() + strip.throttled.len(), PIECES)?;
    within("length_ms", Some(strip.length_ms), 0.0..=LONGEST_MS)?;
    let pieces = strip.pieces.iter().map(|&(cpu, from, to, of)| (cpu, from, to, Some(of)));
    let throttled = strip.throttled.iter().map(|&(cpu, from, to)| (cpu, from, to, None));
    for (cpu, from, to, of) in pieces.chain(throttled) {
        at_most("the number of a CPU", cpu as usize, CPUS)?;
        within("the end of a piece", Some(to), 0.0..=strip.length_ms)?;
        within("the beginning of a piece", Some(from), 0.0..=to)?;
        if let Some(of) = of.filter(|&of| of >= strip.names.len()) {
            return Err(format!("a piece has name {of} of {}: remove the line", strip.names.len()));
        }
    }
    Ok(())
}
