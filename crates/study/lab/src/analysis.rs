//! Analyses recorded trials: estimates, predictions, verdicts.

use crate::definition::{Bound, Condition, Experiment, Metric};
use crate::predict;
use crate::record::{Point, Run};
use crate::statistics::{estimate, Estimate};
use exactop_model::run::statistics::median;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// Result of comparing an interval with a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval is where it was predicted.
    Inside,
    /// The whole interval is elsewhere.
    Outside,
    /// The interval is partly there, or there are too few repeats.
    CantTell,
    /// Nothing was predicted.
    Measured,
    /// No trial is valid.
    Nothing,
}

impl Verdict {
    /// Name of the verdict in tables.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Inside => "inside",
            Verdict::Outside => "OUTSIDE",
            Verdict::CantTell => "can't tell",
            Verdict::Measured => "measured",
            Verdict::Nothing => "nothing",
        }
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name().to_ascii_lowercase())
    }
}

/// The figures of a condition.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Finding {
    pub condition: String,
    pub metric: Metric,
    /// The condition that its figures are divided by.
    pub relative_to: Option<String>,
    /// Place on the sweep's axis.
    pub x: Option<f64>,
    /// Figures of the valid trials.
    pub values: Vec<f64>,
    /// Trials that were run.
    pub made: usize,
    /// Reasons for discarded trials, and the number for each.
    pub discarded: Vec<(String, usize)>,
    pub estimate: Option<Estimate>,
    pub predicted: Option<f64>,
    pub bound: Bound,
    /// Tolerance of the prediction.
    pub delta: f64,
    pub verdict: Verdict,
    pub beside: SideFigures,
}

/// Medians over the valid trials, in per cent of the lab's CPUs or per second; `None` if not
/// measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct SideFigures {
    pub steal_pct: Option<f64>,
    pub foreign_pct: Option<f64>,
    /// Run-queue wait of the first worker, per cent of the window.
    pub lat_pct: Option<f64>,
    pub migrations_s: Option<f64>,
    pub icx_s: Option<f64>,
    pub vcx_s: Option<f64>,
    /// CPU time of exactop itself, per cent of a CPU.
    pub cost_pct: Option<f64>,
}

/// The figures of an experiment.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Findings {
    pub experiment: String,
    pub findings: Vec<Finding>,
}

/// Analyses all experiments of a run.
pub fn analyse(run: &Run, points: &[Point]) -> Vec<Findings> {
    let of = |experiment: &Experiment| {
        let own: Vec<&Point> = points
            .iter()
            .filter(|p| p.experiment == experiment.name && p.strip.is_none())
            .collect();
        let find = |condition| finding(run, experiment, condition, &own);
        Findings {
            experiment: experiment.name.clone(),
            findings: experiment.conditions.iter().map(find).collect(),
        }
    };
    run.experiments.iter().map(of).collect()
}

fn finding(run: &Run, experiment: &Experiment, condition: &Condition, all: &[&Point]) -> Finding {
    let own = || all.iter().filter(|p| p.condition == condition.name);
    let valid: Vec<&Point> = own().filter(|p| p.invalid.is_none()).copied().collect();
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for why in own().filter_map(|p| p.invalid.as_ref()) {
        *reasons.entry(why.clone()).or_default() += 1;
    }
    let values = values(&valid, condition.relative_to.as_deref(), all);
    let estimate = estimate(&values, run.seed);
    let predicted = predict::prediction(experiment, condition, run.machine.cpus);
    let delta = condition.delta.unwrap_or(experiment.delta);
    Finding {
        condition: condition.name.clone(),
        metric: experiment.metric_of(condition),
        relative_to: condition.relative_to.clone(),
        x: condition.x,
        made: own().count(),
        discarded: reasons.into_iter().collect(),
        estimate,
        predicted,
        bound: condition.bound,
        delta,
        verdict: verdict(estimate, predicted, condition.bound, delta),
        beside: beside(&valid),
        values,
    }
}

/// Figure of each trial, or its ratio to the other condition's figure in the same repeat.
fn values(valid: &[&Point], relative_to: Option<&str>, all: &[&Point]) -> Vec<f64> {
    let Some(other) = relative_to else { return valid.iter().filter_map(|p| p.value).collect() };
    let counts = |p: &&&Point| p.condition == other && p.invalid.is_none();
    let mut bases: BTreeMap<u32, Option<f64>> = BTreeMap::new();
    for point in all.iter().filter(counts) {
        bases.entry(point.repeat).or_insert(point.value);
    }
    let base = |repeat: u32| bases.get(&repeat).copied().flatten();
    let over = |p: &&Point| Some(p.value? / base(p.repeat)?).filter(|value| value.is_finite());
    valid.iter().filter_map(over).collect()
}

/// Judges by equivalence: the question is not if a difference was found, but if the interval leaves
/// room for one.
pub fn verdict(
    estimate: Option<Estimate>,
    predicted: Option<f64>,
    bound: Bound,
    delta: f64,
) -> Verdict {
    let Some(estimate) = estimate else { return Verdict::Nothing };
    let Some(predicted) = predicted else { return Verdict::Measured };
    let Some((low, high)) = estimate.interval else { return Verdict::CantTell };
    // Equal floating-point figures may differ in their last bit.
    let near = 1e-9 * predicted.abs().max(1.0);
    let (from, to) = match bound {
        Bound::Equal => (predicted - delta - near, predicted + delta + near),
        Bound::AtLeast => (predicted, f64::INFINITY),
        Bound::AtMost => (f64::NEG_INFINITY, predicted),
    };
    if from <= low && high <= to {
        Verdict::Inside
    } else if high < from || to < low {
        Verdict::Outside
    } else {
        Verdict::CantTell
    }
}

fn beside(valid: &[&Point]) -> SideFigures {
    let of = |figure: &dyn Fn(&Point) -> Option<f64>| {
        median(&valid.iter().filter_map(|p| figure(p)).collect::<Vec<f64>>())
    };
    let second =
        |p: &Point, count: u64| (p.window_ns > 0).then(|| count as f64 * 1e9 / p.window_ns as f64);
    SideFigures {
        steal_pct: of(&|p| p.steal_pct),
        foreign_pct: of(&|p| p.foreign_pct),
        lat_pct: of(&|p| {
            Some(100.0 * p.workers.first()?.lat_ns? as f64 / p.window_ns.max(1) as f64)
        }),
        migrations_s: of(&|p| second(p, p.workers.first()?.migrations?)),
        icx_s: of(&|p| second(p, p.workers.first()?.icx?)),
        vcx_s: of(&|p| second(p, p.workers.first()?.vcx?)),
        cost_pct: of(&|p| p.cost_pct),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(low: f64, high: f64) -> Option<Estimate> {
        Some(Estimate { n: 9, median: (low + high) / 2.0, interval: Some((low, high)) })
    }

    #[test]
    fn a_verdict_depends_on_the_whole_interval() {
        let of = |estimate, bound| verdict(estimate, Some(0.5), bound, 0.1);
        assert_eq!(of(between(0.45, 0.55), Bound::Equal), Verdict::Inside);
        assert_eq!(of(between(0.35, 0.55), Bound::Equal), Verdict::CantTell);
        assert_eq!(of(between(0.61, 0.65), Bound::Equal), Verdict::Outside);
        assert_eq!(of(between(0.5, 9.0), Bound::AtLeast), Verdict::Inside);
        assert_eq!(of(between(0.4, 9.0), Bound::AtLeast), Verdict::CantTell);
        assert_eq!(of(between(0.6, 0.7), Bound::AtMost), Verdict::Outside);
        let few = Some(Estimate { n: 3, median: 0.5, interval: None });
        assert_eq!(of(few, Bound::Equal), Verdict::CantTell);
        assert_eq!(verdict(few, None, Bound::Equal, 0.1), Verdict::Measured);
        assert_eq!(of(None, Bound::Equal), Verdict::Nothing);
    }

    #[test]
    fn relative_figures_are_divided_within_their_repeat() {
        let point = |condition: &str, repeat, value, invalid: Option<&str>| Point {
            condition: condition.into(),
            repeat,
            value: Some(value),
            invalid: invalid.map(String::from),
            ..Point::default()
        };
        let all = [
            point("base", 0, 2.0, None),
            point("base", 1, 4.0, None),
            point("base", 2, 1.0, Some("steal")),
            point("own", 0, 6.0, None),
            point("own", 1, 8.0, None),
            point("own", 2, 9.0, None),
        ];
        let all: Vec<&Point> = all.iter().collect();
        assert_eq!(values(&all[3..], Some("base"), &all), [3.0, 2.0]);
        assert_eq!(values(&all[3..], None, &all), [6.0, 8.0, 9.0]);
    }
}
