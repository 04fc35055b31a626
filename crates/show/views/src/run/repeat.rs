//! Several runs under several conditions: medians, intervals, ratios.

use crate::grid::{self, Layout, Text};
use exactop_model::run::statistics::{median, median_interval};
use exactop_model::run::{RunReport, Tree};
use exactop_model::text::escape::escape_str;
use exactop_model::Counter;
use serde_json::{json, Value};

/// The runs under one condition, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The condition as typed; empty if there is only one.
    pub label: String,
    /// One run per round.
    pub runs: Vec<RunReport>,
}

/// A figure of a run, in seconds.
type Figure = fn(&RunReport) -> Option<f64>;

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn of_tree(report: &RunReport, counter: Counter) -> Option<f64> {
    report.tree.as_ref().ok()?.delta.get(counter).map(seconds)
}

const FIGURES: [(&str, Figure); 6] = [
    ("elapsed", |r| Some(seconds(r.elapsed_ns))),
    ("cpu", |r| Some(seconds(r.cpu_ns()))),
    ("user", |r| Some(seconds(r.user_system_ns().0))),
    ("system", |r| Some(seconds(r.user_system_ns().1))),
    ("waited_for_cpu", |r| of_tree(r, Counter::LatNs)),
    ("throttled", |r| of_tree(r, Counter::ThrottleNs)),
];

fn values(series: &Series, figure: Figure) -> Option<Vec<f64>> {
    series.runs.iter().map(figure).collect()
}

/// Ratio of each run to the first condition's run in the same round.
fn ratios(series: &Series, first: &Series, figure: Figure) -> Option<Vec<f64>> {
    let (mine, theirs) = (values(series, figure)?, values(first, figure)?);
    let pairs = mine.iter().zip(&theirs);
    pairs.map(|(a, b)| (*b > 0.0).then_some(a / b)).collect()
}

/// Text for people.
pub fn text(all: &[Series]) -> String {
    let runs = all.first().map_or(0, |s| s.runs.len());
    let mut out: String = all.iter().filter_map(nameless).collect();
    out += &format!("{runs} runs each; median (95 % interval), seconds\n");
    let heading = [
        "CONDITION",
        "ELAPSED",
        "CPU",
        "USER",
        "SYSTEM",
        "WAITED",
        "THROTTLED",
        "ELAPSED x",
        "CPU x",
    ];
    let rows = all.iter().map(|series| {
        let mut row = vec![match series.label.as_str() {
            "" => "-".to_string(),
            label => escape_str(label),
        }];
        row.extend(FIGURES.iter().map(|(_, figure)| spread(values(series, *figure).as_deref())));
        for (_, figure) in &FIGURES[..2] {
            row.push(match all.first() {
                Some(first) if !std::ptr::eq(first, series) => {
                    spread(ratios(series, first, *figure).as_deref())
                }
                _ => String::new(),
            });
        }
        row
    });
    let layout = Layout { texts: &[("CONDITION", Text::Name)], yields: &[] };
    out += &grid::text(&heading, rows.collect(), &layout, None);
    if runs < 6 {
        out += "no intervals: they take six runs or more\n";
    }
    out
}

/// Unnamed time of tasks without a slot, summed over the runs of a condition.
fn nameless(series: &Series) -> Option<String> {
    let trees = series.runs.iter().filter_map(|run| run.tree.as_ref().ok());
    let those: Vec<(u64, u64)> = trees.filter_map(Tree::nameless).collect();
    let (tasks, ns) = those.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let label = match series.label.as_str() {
        "" => String::new(),
        label => format!("{}: ", escape_str(label)),
    };
    (!those.is_empty()).then(|| {
        format!(
            "NOT ALL OF IT: {label}in {} runs {}\n",
            those.len(),
            super::without_place(tasks, ns)
        )
    })
}

fn spread(values: Option<&[f64]>) -> String {
    let Some(middle) = values.and_then(median) else { return "-".into() };
    match values.and_then(median_interval) {
        Some((low, high)) => format!("{middle:.3} ({low:.3}..{high:.3})"),
        None => format!("{middle:.3}"),
    }
}

/// One JSON object with every run and the statistics.
pub fn json(all: &[Series]) -> Value {
    let conditions: Vec<Value> = all
        .iter()
        .map(|series| {
            let summary: serde_json::Map<String, Value> = FIGURES
                .iter()
                .map(|(name, figure)| {
                    ((*name).to_string() + "_s", summary_of(values(series, *figure)))
                })
                .collect();
            let against_first = all.first().map(|first| {
                json!({
                    "elapsed": summary_of(ratios(series, first, FIGURES[0].1)),
                    "cpu": summary_of(ratios(series, first, FIGURES[1].1)),
                })
            });
            json!({
                "condition": series.label,
                "summary": summary,
                "ratio_to_first": against_first,
                "runs": series.runs.iter().map(super::json).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({
        "schema": { "name": "exactop.runs", "version": super::SCHEMA },
        "confidence": exactop_model::run::statistics::CONFIDENCE,
        "conditions": conditions,
    })
}

fn summary_of(values: Option<Vec<f64>>) -> Value {
    let Some(values) = values else { return Value::Null };
    let interval = median_interval(&values).map(|(low, high)| [low, high]);
    json!({ "median": median(&values), "interval": interval })
}
