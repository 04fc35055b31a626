//! What is written down: one file about the run, one line for each trial as soon as it is made. A
//! run that is killed leaves all trials that were finished.

use crate::definition::Experiment;
use crate::machine::Machine;
use crate::{kept, LabError};
use exactop_files::Directory;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;

pub use crate::kept::TRIALS;

/// The file about the run.
const RUN: &str = "run.json";
/// The file with a line for each trial.
const POINTS: &str = "points.jsonl";
/// Bytes that are read of them at most: more than any run writes ([`kept::TRIALS`]).
const RUN_BYTES: u64 = 16 << 20;
const POINTS_BYTES: u64 = 512 << 20;

/// About a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Which of exactop's formats this is.
    pub schema: Schema,
    /// What decided the order of trials and of starting.
    pub seed: u64,
    /// Shorter windows and fewer repeats.
    pub quick: bool,
    /// When it began, ISO 8601.
    pub began: String,
    /// The program.
    pub exactop: String,
    /// The machine and what may confound.
    pub machine: Machine,
    /// What was run, as it was run.
    pub experiments: Vec<Experiment>,
    /// Experiments and conditions that could not be run here, and why.
    #[serde(default)]
    pub skipped: Vec<(String, String)>,
}

/// Which format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// `exactop.lab`.
    pub name: String,
    /// 1.
    pub version: u32,
}

impl Schema {
    /// This one.
    pub fn this() -> Schema {
        Schema { name: "exactop.lab".into(), version: 1 }
    }
}

/// A trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The experiment.
    pub experiment: String,
    /// The condition.
    pub condition: String,
    /// Which repeat, from 0.
    pub repeat: u32,
    /// The how-manieth trial of the run, from 0.
    pub turn: usize,
    /// What was measured; `None`: it could not be.
    pub value: Option<f64>,
    /// Why it does not count.
    pub invalid: Option<String>,
    /// The length of the window.
    pub window_ns: u64,
    /// The hypervisor took so much of the lab's CPUs; `None`: not measured here.
    pub steal_pct: Option<f64>,
    /// Others than the workers ran on them; `None`, as below, without the ledger.
    pub foreign_pct: Option<f64>,
    /// Interrupts on them, by the kernel's ticks.
    pub irq_pct: Option<f64>,
    /// Executed on them without a name.
    pub unnamed_pct: Option<f64>,
    /// What is missing in the books of all CPUs; anything but 0 is a fault.
    pub residual_ns: Option<i64>,
    /// Missed and impossible events.
    pub errors: Option<u64>,
    /// What looking cost: exactop's own CPU time.
    pub cost_pct: Option<f64>,
    /// The workers.
    pub workers: Vec<WorkerSeen>,
    /// What each process had done when: for each, times (ms) at which equal parts were done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub progress: Vec<Vec<f64>>,
    /// It does not count: the switch log was on, to draw who ran when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strip: Option<Strip>,
}

/// Who was on the lab's CPUs when, from the switch log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Strip {
    /// The workers' names, then that of all others.
    pub names: Vec<String>,
    /// How long it is, ms.
    pub length_ms: f64,
    /// CPU, from and to (ms), and whose: an index of `names`.
    pub pieces: Vec<(u32, f64, f64, usize)>,
    /// CPU, from and to (ms): a quota kept all workers from running, and the CPU was idle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throttled: Vec<(u32, f64, f64)>,
    /// Pieces that are left out because there were too many, and events without room.
    pub left_out: u64,
}

/// A worker in a window; `None`: the ledger does not say here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerSeen {
    /// What tables call it.
    pub name: String,
    /// Executed.
    pub run_ns: Option<u64>,
    /// Runnable and waiting for a CPU.
    pub lat_ns: Option<u64>,
    /// Kept from running by a quota.
    pub throttle_ns: Option<u64>,
    /// Moves to another CPU.
    pub migrations: Option<u64>,
    /// Switches it wanted.
    pub vcx: Option<u64>,
    /// Switches it did not want.
    pub icx: Option<u64>,
}

/// A directory that trials are written into.
pub struct Recorder {
    directory: Directory,
    points: File,
}

impl Recorder {
    /// Takes a directory, which must not hold another run.
    ///
    /// # Errors
    /// [`LabError::Files`]
    pub fn new(directory: Directory, run: &Run) -> Result<Recorder, LabError> {
        for name in [RUN, POINTS] {
            if directory.has(name)? {
                let why = "there is a run in it already: give another --out, or remove it";
                return Err(LabError::file("write", directory.path().join(name), why));
            }
        }
        write_json(&directory, RUN, run)?;
        let points = directory.create(POINTS)?;
        Ok(Recorder { directory, points })
    }

    /// Where.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Writes a trial down.
    ///
    /// # Errors
    /// [`LabError::File`], of a full disk too.
    pub fn add(&mut self, point: &Point) -> Result<(), LabError> {
        let failed = |why: String| LabError::file("write", self.directory.path().join(POINTS), why);
        let mut line = serde_json::to_string(point).map_err(|error| failed(error.to_string()))?;
        line.push('\n');
        let written = self.points.write_all(line.as_bytes()).and_then(|()| self.points.sync_data());
        written.map_err(|error| failed(error.to_string()))
    }
}

/// A run and its trials, from a directory; a last line that was cut off is left out. What is read
/// is checked as what is typed in.
///
/// # Errors
/// [`LabError`]: what is wrong with which file.
pub fn read(directory: &Directory) -> Result<(Run, Vec<Point>), LabError> {
    let failed = |name: &str, why: String| LabError::file("use", directory.path().join(name), why);
    let run = parse_run(&directory.read(RUN, RUN_BYTES)?).map_err(|why| failed(RUN, why))?;
    let points = parse_points(&run, &directory.read(POINTS, POINTS_BYTES)?);
    Ok((run, points.map_err(|why| failed(POINTS, why))?))
}

/// A run from what its file says; what is wrong with it if it cannot be used.
///
/// # Errors
/// In one line.
pub fn parse_run(bytes: &[u8]) -> Result<Run, String> {
    let run: Run = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if run.schema != Schema::this() {
        let Schema { name, version } = &run.schema;
        return Err(format!("it is {name} {version}, not {} 1", Schema::this().name));
    }
    kept::check_run(&run)?;
    Ok(run)
}

/// The trials of a run from what their file says.
///
/// # Errors
/// The line, and what is wrong with it.
pub fn parse_points(run: &Run, bytes: &[u8]) -> Result<Vec<Point>, String> {
    let mut check = kept::Points::of(run);
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

/// Writes a value as JSON.
///
/// # Errors
/// [`LabError::Files`]
pub fn write_json(
    directory: &Directory,
    name: &str,
    value: &impl Serialize,
) -> Result<(), LabError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| LabError::file("write", directory.path().join(name), error))?;
    Ok(directory.replace(name, (text + "\n").as_bytes())?)
}
