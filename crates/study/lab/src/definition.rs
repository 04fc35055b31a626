//! What an experiment is, as a TOML file says it.

use crate::LabError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// What it is called: letters, digits, `-` and `_`.
    pub name: String,
    /// One line.
    pub title: String,
    /// What is asked.
    pub question: String,
    /// How it is measured.
    pub method: String,
    /// What is predicted, and why.
    pub why: String,
    /// What is measured, unless a condition says otherwise.
    pub metric: Metric,
    /// What one is the unit of the metric, for tables and plots.
    #[serde(default)]
    pub unit: String,
    /// Where workers run that do not say otherwise.
    #[serde(default)]
    pub on: Cpus,
    /// When a trial ends.
    #[serde(default)]
    pub ends: Ends,
    /// The length of a window, seconds.
    #[serde(default = "window_s")]
    pub window_s: f64,
    /// How long workers run before the window begins, seconds.
    #[serde(default = "settle_s")]
    pub settle_s: f64,
    /// Trials of each condition.
    #[serde(default = "repeats")]
    pub repeats: u32,
    /// How far a measured figure may be from the predicted one.
    #[serde(default = "delta")]
    pub delta: f64,
    /// What is other in a quick run.
    #[serde(default)]
    pub quick: Quick,
    /// When a trial does not count.
    #[serde(default)]
    pub limits: Limits,
    /// Under which conditions.
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// One more condition for each niceness.
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

/// What is measured in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// The first worker's CPU time over that of all workers.
    Share,
    /// The first worker's CPU time over the second's.
    Ratio,
    /// The first worker's CPU time over the window: 1 is one CPU.
    Cpu,
    /// All workers' CPU time over that of all CPUs.
    Machine,
    /// What the ledger names, over what was executed on all CPUs.
    Named,
    /// What the rows of `top -b` add up to, over the window of all CPUs.
    TopSum,
    /// The part of the user time that /proc/stat calls nice.
    NiceTime,
    /// The niceness the first worker turned out to have.
    Niceness,
    /// The part of the quota's periods in which the group was throttled.
    Throttled,
    /// CPU time that the first worker gets between two gaps of a millisecond or more, ms: the
    /// median (from the switch log).
    Burst,
    /// From the beginning of one such burst to that of the next, ms: the median.
    Period,
    /// How often the first worker moved to another CPU, a second.
    Migrations,
    /// Steps of all processes a second (`exactop load progress`).
    Throughput,
    /// Until the last process was done, seconds (`exactop load progress`).
    Latency,
    /// Steps of the first process over those of all, until the first was done.
    ProgressShare,
    /// CPU time of the server for a connection, microseconds (`exactop load herd`).
    PerConnection,
}

/// Where workers run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cpus {
    /// All on the lab's CPU, which nothing else of the lab uses.
    #[default]
    One,
    /// Wherever the kernel puts them.
    All,
}

/// When a trial ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ends {
    /// When the window is over; workers are ended then.
    #[default]
    Window,
    /// When the workers are done.
    Done,
}

/// What is other in a quick run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// The length of a window, seconds.
    pub window_s: Option<f64>,
    /// Trials of each condition.
    pub repeats: Option<u32>,
    /// How far a figure may be from the prediction.
    pub delta: Option<f64>,
}

/// What makes a trial not count, per cent of the window of the lab's CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// The hypervisor took them.
    pub steal_pct: f64,
    /// Others than the workers ran on them.
    pub foreign_pct: f64,
    /// Interrupts.
    pub irq_pct: f64,
    /// Time that no account got by name.
    pub unnamed_pct: f64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { steal_pct: 1.0, foreign_pct: 1.0, irq_pct: 2.0, unnamed_pct: 0.5 }
    }
}

/// Who runs, and what is predicted of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// What tables call it.
    pub name: String,
    /// Who runs.
    pub workers: Vec<Worker>,
    /// Control groups, by their paths below the trial's own.
    #[serde(default)]
    pub groups: BTreeMap<String, GroupLimits>,
    /// What is predicted; nothing: it is measured only.
    #[serde(default)]
    pub predict: Option<Predict>,
    /// How the prediction is meant.
    #[serde(default)]
    pub bound: Bound,
    /// The figure is divided by that of this condition in the same repeat.
    #[serde(default)]
    pub relative_to: Option<String>,
    /// What is measured, if not what the experiment measures.
    #[serde(default)]
    pub metric: Option<Metric>,
    /// How far it may be off, if not as far as in the experiment.
    #[serde(default)]
    pub delta: Option<f64>,
    /// When its trials end, if not when the experiment's do.
    #[serde(default)]
    pub ends: Option<Ends>,
    /// How long its workers run before the window begins, if not as long as the experiment's.
    #[serde(default)]
    pub settle_s: Option<f64>,
    /// The ledger is attached; without it only what workers say of themselves can be measured.
    #[serde(default = "yes")]
    pub ledger: bool,
    /// Its place on the axis of the sweep.
    #[serde(default)]
    pub x: Option<f64>,
}

/// A prediction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Predict {
    /// A figure.
    Figure(f64),
    /// By a rule.
    Rule(Rule),
}

/// Where a predicted figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The kernel's weights of the workers' nicenesses.
    Nice,
    /// The groups' weights, level by level.
    Weight,
    /// The first worker's group's quota: of a CPU; of a burst or a period the milliseconds of
    /// cpu.max.
    Quota,
    /// As many CPUs as there are workers, if the machine has them.
    Cpus,
}

/// How a prediction is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// That figure.
    #[default]
    Equal,
    /// That much or more.
    AtLeast,
    /// That much or less.
    AtMost,
}

/// Someone who runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Worker {
    /// What tables call it.
    #[serde(default)]
    pub name: String,
    /// A workload of `exactop load` with its arguments; `{window}` stands for the window's length.
    #[serde(default = "spin")]
    pub load: Vec<String>,
    /// A command instead; `{exactop}` stands for this program.
    #[serde(default)]
    pub command: Option<Vec<String>>,
    /// How many of it, or `cpus` or `cpus+1`.
    #[serde(default)]
    pub count: Count,
    /// Its niceness; what is beyond -20 to 19 is clamped by the kernel.
    #[serde(default)]
    pub nice: i64,
    /// The control group it runs in.
    #[serde(default)]
    pub group: Option<String>,
    /// Where it runs, if not where the experiment does.
    #[serde(default)]
    pub on: Option<Cpus>,
    /// It is there so that others have to live with it: no part of shares and predictions.
    #[serde(default)]
    pub background: bool,
}

fn spin() -> Vec<String> {
    ["spin", "--threads", "1", "--duration", "3600"].map(String::from).to_vec()
}

/// How many.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Count {
    /// So many.
    Number(u32),
    /// By the machine.
    Word(String),
}

impl Default for Count {
    fn default() -> Count {
        Count::Number(1)
    }
}

impl Count {
    /// On a machine of so many CPUs.
    pub fn on(&self, cpus: usize) -> usize {
        match self {
            Count::Number(n) => *n as usize,
            Count::Word(word) if word == "cpus" => cpus,
            Count::Word(_) => cpus + 1,
        }
    }
}

/// What a control group may use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupLimits {
    /// cpu.weight, 1 to 10000; the kernel's own is 100.
    #[serde(default)]
    pub weight: Option<u64>,
    /// cpu.max, as `exactop run --max` takes it.
    #[serde(default)]
    pub max: Option<String>,
}

/// One worker at each niceness against one that stays.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// From and to.
    pub nice: (i64, i64),
    /// The one that stays.
    pub against: i64,
    /// Trials of each.
    pub repeats: u32,
    /// Of how many levels a quick run takes one.
    #[serde(default = "every")]
    pub quick_every: i64,
}

fn every() -> i64 {
    1
}

const TOO_DEEP: &str = "more than 64 brackets are open here: close them";

impl Experiment {
    /// From a file's text; `from` is what errors call it.
    ///
    /// # Errors
    /// [`LabError::Definition`].
    pub fn read(text: &str, from: &str) -> Result<Experiment, LabError> {
        let wrong = |why: String| LabError::Definition { from: from.into(), why };
        if let Some(line) = exactop_files::too_deep(text) {
            return Err(wrong(format!("line {line}: {TOO_DEEP}")));
        }
        let mut experiment: Experiment = toml::from_str(text).map_err(|error| {
            // Its message is a picture of several lines; where, and the last of it, say enough.
            let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
            let place = line.map_or(String::new(), |line| format!("line {line}: "));
            wrong(format!("{place}{}", error.message()))
        })?;
        experiment.sweep_out();
        experiment.check().map_err(wrong)?;
        Ok(experiment)
    }

    /// As it is run: with what is other in a quick run.
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

    /// What is measured under a condition.
    pub fn metric_of(&self, condition: &Condition) -> Metric {
        condition.metric.unwrap_or(self.metric)
    }

    /// When trials of a condition end.
    pub fn ends_of(&self, condition: &Condition) -> Ends {
        condition.ends.unwrap_or(self.ends)
    }

    /// How long workers of a condition run before the window begins, seconds.
    pub fn settle_of(&self, condition: &Condition) -> f64 {
        condition.settle_s.unwrap_or(self.settle_s)
    }
}
