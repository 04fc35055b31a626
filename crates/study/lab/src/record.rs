//! Files of a run: one for the run, and one with a line for each trial, written at once. A run that
//! is killed keeps all finished trials.

use crate::definition::Experiment;
use crate::machine::MachineFacts;
use crate::LabError;
use exactop_files::Directory;
use exactop_model::on_demand::moves::{Cause, MoveSums};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;

pub(crate) const RUN: &str = "run.json";
/// File of the trials, one per line.
pub(crate) const POINTS: &str = "points.jsonl";
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Run {
    /// Format of the file.
    pub schema: Schema,
    /// Seed of the orders of trials and of starts.
    pub seed: u64,
    /// A quick run: shorter windows and fewer repeats.
    pub quick: bool,
    /// Start of the run, ISO 8601.
    pub began: String,
    pub exactop: String,
    pub machine: MachineFacts,
    pub experiments: Vec<Experiment>,
    /// Experiments and conditions that could not run here, and why.
    #[serde(default)]
    pub skipped: Vec<(String, String)>,
}

/// A format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// `exactop.lab`.
    pub name: String,
    /// Version 1.
    pub version: u32,
}

impl Schema {
    /// The current format.
    pub fn this() -> Schema {
        Schema { name: "exactop.lab".into(), version: 1 }
    }
}

/// A trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Point {
    pub experiment: String,
    pub condition: String,
    /// Number of the repeat, from 0.
    pub repeat: u32,
    /// Number of the trial in the run, from 0.
    pub turn: usize,
    /// The figure; `None` if not measured.
    pub value: Option<f64>,
    /// Why the trial is discarded.
    pub invalid: Option<String>,
    pub window_ns: u64,
    /// Stolen time, per cent of the lab's CPUs; `None` if not measured here.
    pub steal_pct: Option<f64>,
    /// Time of tasks other than the workers, per cent of the lab's CPUs; `None` without the ledger,
    /// as for the fields below.
    pub foreign_pct: Option<f64>,
    /// Interrupts, per cent of the lab's CPUs, by the kernel's ticks.
    pub irq_pct: Option<f64>,
    /// Unnamed time, per cent of the lab's CPUs.
    pub unnamed_pct: Option<f64>,
    /// Residual of all CPUs, ns; any value but 0 is an error.
    pub residual_ns: Option<i64>,
    /// Missed and impossible events.
    pub errors: Option<u64>,
    /// CPU time of exactop itself, per cent of a CPU.
    pub cost_pct: Option<f64>,
    pub workers: Vec<WorkerFigures>,
    /// Causes of the first worker's migrations, if they were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Vec<(Cause, MoveSums)>>,
    /// Progress of each process: times (ms) at which equal parts were done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub progress: Vec<Vec<f64>>,
    /// Strip of a trial that is only drawn; such a trial does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strip: Option<Strip>,
}

/// Tasks on the lab's CPUs over time, from the switch log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Strip {
    /// Names of the workers, then the name of all others.
    pub names: Vec<String>,
    /// Length, ms.
    pub length_ms: f64,
    /// CPU, beginning and end (ms), and index in `names`.
    pub pieces: Vec<(u32, f64, f64, usize)>,
    /// CPU, beginning and end (ms): a quota stopped all workers, and the CPU was idle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throttled: Vec<(u32, f64, f64)>,
    /// Pieces above the limit, and events lost by a full buffer.
    pub left_out: u64,
}

/// A worker in a window, with its voluntary (vcx) and involuntary (icx) switches; `None` if the
/// ledger does not know here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct WorkerFigures {
    pub name: String,
    pub run_ns: Option<u64>,
    pub lat_ns: Option<u64>,
    pub throttle_ns: Option<u64>,
    pub migrations: Option<u64>,
    pub vcx: Option<u64>,
    pub icx: Option<u64>,
}

/// A directory that trials are written into.
pub struct Recorder {
    directory: Directory,
    points: File,
}

impl Recorder {
    /// Opens a directory, which must not hold another run.
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

    /// Directory of this run.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Writes a trial.
    ///
    /// # Errors
    /// [`LabError::File`], also when the disk is full.
    pub fn add(&mut self, point: &Point) -> Result<(), LabError> {
        let failed = |why: String| LabError::file("write", self.directory.path().join(POINTS), why);
        let mut line = serde_json::to_string(point).map_err(|error| failed(error.to_string()))?;
        line.push('\n');
        let written = self.points.write_all(line.as_bytes()).and_then(|()| self.points.sync_data());
        written.map_err(|error| failed(error.to_string()))
    }
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
