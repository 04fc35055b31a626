//! What is written down: one file about the run, one line for each trial as soon as it is made. A
//! run that is killed leaves all trials that were finished.

use crate::definition::Experiment;
use crate::machine::Machine;
use crate::LabError;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The file about the run.
const RUN: &str = "run.json";
/// The file with a line for each trial.
const POINTS: &str = "points.jsonl";

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
    path: PathBuf,
    points: File,
}

impl Recorder {
    /// Makes the directory, which must not hold another run.
    ///
    /// # Errors
    /// [`LabError::File`].
    pub fn new(directory: &Path, run: &Run) -> Result<Recorder, LabError> {
        let made = fs::create_dir_all(directory);
        made.map_err(|error| LabError::file("make", directory, error))?;
        let path = directory.join(RUN);
        if path.exists() {
            let why = "there is a run in it already: give another --out, or remove it";
            return Err(LabError::file("write", path, why));
        }
        write_json(&path, run)?;
        let path = directory.join(POINTS);
        let points = OpenOptions::new().create(true).append(true).open(&path);
        let points = points.map_err(|error| LabError::file("write", &path, error))?;
        Ok(Recorder { path, points })
    }

    /// Writes a trial down.
    ///
    /// # Errors
    /// [`LabError::File`], of a full disk too.
    pub fn add(&mut self, point: &Point) -> Result<(), LabError> {
        let mut line = serde_json::to_string(point)
            .map_err(|error| LabError::file("write", &self.path, error))?;
        line.push('\n');
        self.points
            .write_all(line.as_bytes())
            .and_then(|()| self.points.sync_data())
            .map_err(|error| LabError::file("write", &self.path, error))
    }
}

/// A run and its trials, from a directory; a last line that was cut off is left out.
///
/// # Errors
/// [`LabError::File`].
pub fn read(directory: &Path) -> Result<(Run, Vec<Point>), LabError> {
    let path = directory.join(RUN);
    let text = fs::read_to_string(&path).map_err(|error| LabError::file("read", &path, error))?;
    let run: Run =
        serde_json::from_str(&text).map_err(|error| LabError::file("read", &path, error))?;
    if run.schema != Schema::this() {
        let Schema { name, version } = &run.schema;
        let why = format!("it is {name} {version}, not {} 1", Schema::this().name);
        return Err(LabError::file("read", &path, why));
    }
    let path = directory.join(POINTS);
    let text = fs::read_to_string(&path).map_err(|error| LabError::file("read", &path, error))?;
    let mut points = Vec::new();
    for (i, line) in text.split_inclusive('\n').enumerate() {
        match serde_json::from_str(line) {
            Ok(point) => points.push(point),
            Err(_) if !line.ends_with('\n') => {}
            Err(error) => {
                return Err(LabError::file("read", &path, format!("line {}: {error}", i + 1)))
            }
        }
    }
    Ok((run, points))
}

/// Writes a value as JSON.
///
/// # Errors
/// [`LabError::File`].
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), LabError> {
    let text = serde_json::to_string_pretty(value);
    write(path, &(text.map_err(|error| LabError::file("write", path, error))? + "\n"))
}

/// Writes a file, whole or not at all.
///
/// # Errors
/// [`LabError::File`].
pub fn write(path: &Path, text: &str) -> Result<(), LabError> {
    let aside = path.with_extension("new");
    let written = File::create(&aside)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_data()))
        .and_then(|()| fs::rename(&aside, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&aside);
        LabError::file("write", path, error)
    })
}
