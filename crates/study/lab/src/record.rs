//! What is written down: one file about the run, one line for each trial as soon as it is made. A
//! run that is killed leaves all trials that were finished.

use crate::definition::Experiment;
use crate::machine::MachineFacts;
use crate::LabError;
use exactop_files::Directory;
use exactop_model::on_demand::moves::{Cause, MoveSums};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;

/// The file about the run.
pub(crate) const RUN: &str = "run.json";
/// The file with a line for each trial.
pub(crate) const POINTS: &str = "points.jsonl";
/// About a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Run {
    /// Which of exactop's formats this is.
    pub schema: Schema,
    /// What decided the order of trials and of starting.
    pub seed: u64,
    /// Shorter windows and fewer repeats.
    pub quick: bool,
    /// When it began, ISO 8601.
    pub began: String,
    pub exactop: String,
    pub machine: MachineFacts,
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
#[allow(missing_docs)]
pub struct Point {
    pub experiment: String,
    pub condition: String,
    /// Which repeat, from 0.
    pub repeat: u32,
    /// Which trial of the run, from 0.
    pub turn: usize,
    /// What was measured; `None`: it could not be.
    pub value: Option<f64>,
    /// Why it does not count.
    pub invalid: Option<String>,
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
    pub workers: Vec<WorkerSeen>,
    /// What moved the first worker to other CPUs, where that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Vec<(Cause, MoveSums)>>,
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

/// A worker in a window, with its switches of its own will (vcx) and against it (icx); `None`: the ledger
/// does not say here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct WorkerSeen {
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

    /// The directory of this run, where its trials are written.
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
