//! Definition of an experiment, as in a TOML file.

use crate::LabError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Name: letters, digits, `-` and `_`.
    pub name: String,
    /// Title, one line.
    pub title: String,
    /// The question that it answers.
    pub question: String,
    /// How it measures.
    pub method: String,
    /// The prediction and its reason.
    pub why: String,
    /// Metric of all conditions that do not set their own.
    pub metric: Metric,
    /// Unit of the metric, for tables and plots.
    #[serde(default)]
    pub unit: String,
    /// CPUs of all workers that do not set their own.
    #[serde(default)]
    pub on: Cpus,
    /// When a trial ends.
    #[serde(default)]
    pub ends: Ends,
    /// Length of a window, seconds.
    #[serde(default = "window_s")]
    pub window_s: f64,
    /// How long workers run before the window begins, seconds.
    #[serde(default = "settle_s")]
    pub settle_s: f64,
    /// Trials of each condition.
    #[serde(default = "repeats")]
    pub repeats: u32,
    /// Tolerance of predictions.
    #[serde(default = "delta")]
    pub delta: f64,
    /// Settings of a quick run.
    #[serde(default)]
    pub quick: Quick,
    /// Limits of a valid trial.
    #[serde(default)]
    pub limits: Limits,
    /// The conditions.
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// Adds a condition for each niceness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
}

fn window_s() -> f64 {
    2.0
}
fn settle_s() -> f64 {
    0.2
}
fn repeats() -> u32 {
    20
}
fn yes() -> bool {
    true
}
fn delta() -> f64 {
    0.02
}

/// Metric of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// CPU time of the first worker over that of all workers.
    Share,
    /// CPU time of the first worker over that of the second.
    Ratio,
    /// CPU time of the first worker over the window; 1 is one CPU.
    Cpu,
    /// CPU time of all workers over that of all CPUs.
    Machine,
    /// Time with a name in the ledger, over time executed on all CPUs.
    Named,
    /// Sum of the rows of `top -b`, over the window of all CPUs.
    TopSum,
    /// Share of user time that /proc/stat counts as nice.
    NiceTime,
    /// Effective niceness of the first worker.
    Niceness,
    /// Share of the quota's periods in which the group was throttled.
    Throttled,
    /// Median CPU time of the first worker between two gaps of a millisecond or more, ms (from the
    /// switch log).
    Burst,
    /// Median time between the beginnings of two such bursts, ms.
    Period,
    /// Migrations of the first worker, per second.
    Migrations,
    /// Steps of all processes per second (`exactop load progress`).
    Throughput,
    /// Time until the last process was done, seconds (`exactop load progress`).
    Latency,
    /// Steps of the first process over those of all, until the first was done.
    ProgressShare,
    /// CPU time of the server per connection, microseconds (`exactop load herd`).
    PerConnection,
}

/// CPUs of workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cpus {
    /// The lab's CPU, which nothing else of the lab uses.
    #[default]
    One,
    /// All CPUs; the kernel places the workers.
    All,
}

/// When a trial ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ends {
    /// After the window; the workers are killed.
    #[default]
    Window,
    /// When the workers are done.
    Done,
}

/// Settings of a quick run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// Length of a window, seconds.
    pub window_s: Option<f64>,
    /// Trials of each condition.
    pub repeats: Option<u32>,
    /// Tolerance of predictions.
    pub delta: Option<f64>,
}

/// Limits of a valid trial, per cent of the window of the lab's CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Stolen by the hypervisor.
    pub steal_pct: f64,
    /// Used by tasks other than the workers.
    pub foreign_pct: f64,
    /// Interrupts.
    pub irq_pct: f64,
    /// Unnamed CPU time.
    pub unnamed_pct: f64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { steal_pct: 1.0, foreign_pct: 1.0, irq_pct: 2.0, unnamed_pct: 0.5 }
    }
}

/// A condition: its workers, and the prediction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Name in tables.
    pub name: String,
    /// The workers.
    pub workers: Vec<Worker>,
    /// Control groups, by their paths below the trial's own.
    #[serde(default)]
    pub groups: BTreeMap<String, GroupLimits>,
    /// The prediction; `None`: the condition is only measured.
    #[serde(default)]
    pub predict: Option<Predict>,
    /// Meaning of the prediction.
    #[serde(default)]
    pub bound: Bound,
    /// The figure is divided by that of this condition in the same repeat.
    #[serde(default)]
    pub relative_to: Option<String>,
    /// Metric, if not the experiment's.
    #[serde(default)]
    pub metric: Option<Metric>,
    /// Tolerance, if not the experiment's.
    #[serde(default)]
    pub delta: Option<f64>,
    /// When its trials end, if not as in the experiment.
    #[serde(default)]
    pub ends: Option<Ends>,
    /// How long its workers run before the window, if not as in the experiment, seconds.
    #[serde(default)]
    pub settle_s: Option<f64>,
    /// Attaches the ledger; without it only metrics that workers report can be measured.
    #[serde(default = "yes")]
    pub ledger: bool,
    /// Place on the sweep's axis.
    #[serde(default)]
    pub x: Option<f64>,
}

/// A prediction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Predict {
    /// A figure.
    Figure(f64),
    /// A rule that computes the figure.
    Rule(Rule),
}

/// Rule for a predicted figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The kernel's weights of the workers' nicenesses.
    Nice,
    /// The groups' weights, level by level.
    Weight,
    /// The quota of the first worker's group: in CPUs; for a burst or a period, the milliseconds of
    /// cpu.max.
    Quota,
    /// As many CPUs as workers, if the machine has them.
    Cpus,
}

/// Meaning of a prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// This figure.
    #[default]
    Equal,
    /// This figure or more.
    AtLeast,
    /// This figure or less.
    AtMost,
}

/// A worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Worker {
    /// Name in tables.
    #[serde(default)]
    pub name: String,
    /// A workload of `exactop load` with its arguments; `{window}` stands for the window's length.
    #[serde(default = "spin")]
    pub load: Vec<String>,
    /// A command instead of a workload; `{exactop}` stands for this program.
    #[serde(default)]
    pub command: Option<Vec<String>>,
    /// Number of such workers, or `cpus` or `cpus+1`.
    #[serde(default)]
    pub count: Count,
    /// Niceness; the kernel clamps it to -20..19.
    #[serde(default)]
    pub nice: i64,
    /// Its control group.
    #[serde(default)]
    pub group: Option<String>,
    /// Its CPUs, if not the experiment's.
    #[serde(default)]
    pub on: Option<Cpus>,
    /// Background load: not part of shares and predictions.
    #[serde(default)]
    pub background: bool,
}

fn spin() -> Vec<String> {
    ["spin", "--threads", "1", "--duration", "3600"].map(String::from).to_vec()
}

/// A number of workers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Count {
    /// This number.
    Number(u32),
    /// A number that depends on the machine.
    Word(String),
}

impl Default for Count {
    fn default() -> Count {
        Count::Number(1)
    }
}

impl Count {
    /// The number on a machine with `cpus` CPUs.
    pub fn on(&self, cpus: usize) -> usize {
        match self {
            Count::Number(n) => *n as usize,
            Count::Word(word) if word == "cpus" => cpus,
            Count::Word(_) => cpus + 1,
        }
    }
}

/// Limits of a control group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupLimits {
    /// cpu.weight, 1 to 10000; the kernel's default is 100.
    #[serde(default)]
    pub weight: Option<u64>,
    /// cpu.max, as in `exactop run --max`.
    #[serde(default)]
    pub max: Option<String>,
}

/// A worker at each niceness, against one with a fixed niceness.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// First and last niceness.
    pub nice: (i64, i64),
    /// The fixed niceness.
    pub against: i64,
    /// Trials of each.
    pub repeats: u32,
    /// A quick run takes every n-th niceness.
    #[serde(default = "every")]
    pub quick_every: i64,
}

fn every() -> i64 {
    1
}

const TOO_DEEP: &str = "more than 64 brackets are open: close some of them";

impl Experiment {
    /// Parses a definition; `from` names its file in errors.
    ///
    /// # Errors
    /// [`LabError::Definition`].
    pub fn read(text: &str, from: &str) -> Result<Experiment, LabError> {
        let wrong = |why: String| LabError::Definition { from: from.into(), why };
        if let Some(line) = exactop_files::too_deep(text) {
            return Err(wrong(format!("line {line}: {TOO_DEEP}")));
        }
        let mut experiment: Experiment = toml::from_str(text).map_err(|error| {
            // The parser's message spans several lines; the line number and its last line are
            // enough.
            let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
            let place = line.map_or(String::new(), |line| format!("line {line}: "));
            wrong(format!("{place}{}", error.message()))
        })?;
        experiment.sweep_out();
        experiment.check().map_err(wrong)?;
        Ok(experiment)
    }

    /// Applies the settings of a quick run.
    pub fn quickened(mut self) -> Experiment {
        let Quick { window_s, repeats, delta } = self.quick;
        self.window_s = window_s.unwrap_or(self.window_s.min(0.5));
        self.repeats = repeats.unwrap_or(self.repeats.min(6));
        self.delta = delta.unwrap_or(self.delta * 1.5);
        if let Some(sweep) = self.sweep {
            let is_taken = |x: f64| (x as i64 - sweep.nice.0) % sweep.quick_every.max(1) == 0;
            self.conditions.retain(|condition| condition.x.is_none_or(is_taken));
        }
        for condition in &mut self.conditions {
            condition.delta =
                condition.delta.map(|own| delta.map_or(own * 1.5, |quick| quick.max(own)));
        }
        self
    }

    fn sweep_out(&mut self) {
        let Some(sweep) = self.sweep else { return };
        let spinner = |nice: i64| Worker {
            name: format!("nice {nice}"),
            load: spin(),
            command: None,
            count: Count::default(),
            nice,
            group: None,
            on: None,
            background: false,
        };
        for nice in sweep.nice.0.max(-20)..=sweep.nice.1.min(19) {
            self.conditions.push(Condition {
                name: format!("sweep {nice} : {}", sweep.against),
                workers: vec![spinner(nice), spinner(sweep.against)],
                groups: BTreeMap::new(),
                predict: Some(Predict::Rule(Rule::Nice)),
                bound: Bound::Equal,
                relative_to: None,
                metric: Some(Metric::Share),
                delta: None,
                ends: None,
                settle_s: None,
                ledger: true,
                x: Some(nice as f64),
            });
        }
    }

    /// Trials of a condition.
    pub fn repeats_of(&self, condition: &Condition) -> u32 {
        match (condition.x, self.sweep) {
            (Some(_), Some(sweep)) => sweep.repeats.min(self.repeats),
            _ => self.repeats,
        }
    }

    /// Metric of a condition.
    pub fn metric_of(&self, condition: &Condition) -> Metric {
        condition.metric.unwrap_or(self.metric)
    }

    /// When trials of a condition end.
    pub fn ends_of(&self, condition: &Condition) -> Ends {
        condition.ends.unwrap_or(self.ends)
    }

    /// How long workers of a condition run before the window, seconds.
    pub fn settle_of(&self, condition: &Condition) -> f64 {
        condition.settle_s.unwrap_or(self.settle_s)
    }
}
