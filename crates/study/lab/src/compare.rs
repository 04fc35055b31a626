//! Compares two runs, for example of two kernels or two machines. Overlapping intervals show no
//! difference.

use crate::analysis::{analyse, Finding};
use crate::record::{Point, Run};
use crate::statistics::{difference, Estimate};
use comfy_table::{presets, CellAlignment, ContentArrangement, Table};
use exactop_model::text::escape::harmless;
use serde::Serialize;

/// One condition in both runs.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Pair {
    pub experiment: String,
    pub condition: String,
    pub first: Option<Estimate>,
    pub second: Option<Estimate>,
    /// The second figure minus the first.
    pub difference: Option<Estimate>,
    /// True if both intervals, and that of the difference, exclude equality; `None` if there are
    /// too few repeats.
    pub differs: Option<bool>,
}

/// Compares the conditions that are in both runs.
pub fn compare(first: &(Run, Vec<Point>), second: &(Run, Vec<Point>)) -> Vec<Pair> {
    let seed = first.0.seed;
    let (a, b) = (analyse(&first.0, &first.1), analyse(&second.0, &second.1));
    let mut pairs = Vec::new();
    for (a, b) in
        a.iter().filter_map(|a| Some((a, b.iter().find(|b| b.experiment == a.experiment)?)))
    {
        for one in &a.findings {
            let same = |f: &&Finding| f.condition == one.condition && f.metric == one.metric;
            let Some(other) = b.findings.iter().find(same) else { continue };
            pairs.push(pair(&a.experiment, one, other, seed));
        }
    }
    pairs
}

fn pair(experiment: &str, first: &Finding, second: &Finding, seed: u64) -> Pair {
    let difference = difference(&second.values, &first.values, seed);
    let interval = |finding: &Finding| finding.estimate.and_then(|e| e.interval);
    let apart = interval(first).zip(interval(second)).map(|(a, b)| a.1 < b.0 || b.1 < a.0);
    let zero_outside =
        difference.and_then(|d| d.interval).map(|(low, high)| low > 0.0 || high < 0.0);
    Pair {
        experiment: experiment.into(),
        condition: first.condition.clone(),
        first: first.estimate,
        second: second.estimate,
        difference,
        differs: apart.zip(zero_outside).map(|(apart, outside)| apart && outside),
    }
}

/// The comparison as text.
pub fn text(pairs: &[Pair]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["experiment", "condition", "first", "second", "difference", ""]);
    let shown =
        |estimate: &Option<Estimate>| estimate.as_ref().map_or("-".into(), super::report::interval);
    for pair in pairs {
        let claim = match pair.differs {
            Some(true) => "differs",
            Some(false) => "no difference shown",
            None => "too few repeats",
        };
        let [first, second, difference] = [&pair.first, &pair.second, &pair.difference].map(shown);
        table.add_row([
            &harmless(&pair.experiment),
            &harmless(&pair.condition),
            &first,
            &second,
            &difference,
            &claim.to_string(),
        ]);
    }
    for column in table.column_iter_mut().skip(2).take(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_string()).collect();
    lines.join("\n") + "\n"
}
