//! Causes of workers' migrations, in an experiment that measures migrations.

use crate::analysis::Finding;
use crate::record::Point;
use exactop_model::on_demand::moves::{Cause, MoveSums};
use exactop_model::words::units::duration;
use exactop_report::plot::page::Block;
use std::collections::BTreeMap;

const TITLES: [&str; 6] =
    ["why workers moved", "moves", "waited after, mean", "paid", "not", "what that is"];

/// Table of causes over the valid trials of each condition; `None` if they were not measured.
pub fn table(experiment: &str, findings: &[&Finding], points: &[Point]) -> Option<Block> {
    let mut rows = Vec::new();
    for finding in findings {
        let counts = |point: &&Point| {
            let is_of = point.experiment == experiment && point.condition == finding.condition;
            is_of && point.invalid.is_none() && point.strip.is_none()
        };
        let told: Vec<&Vec<(Cause, MoveSums)>> =
            points.iter().filter(counts).filter_map(|point| point.moved.as_ref()).collect();
        if !told.is_empty() {
            rows.extend(of_condition(&finding.condition, &told));
        }
    }
    let titles = TITLES.map(String::from).to_vec();
    (!rows.is_empty()).then_some(Block::Table(titles, rows))
}

fn of_condition(condition: &str, told: &[&Vec<(Cause, MoveSums)>]) -> Vec<Vec<String>> {
    let mut causes: BTreeMap<Cause, MoveSums> = BTreeMap::new();
    for (cause, sums) in told.iter().copied().flatten() {
        causes.entry(*cause).or_default().add(sums);
    }
    if causes.is_empty() {
        let nothing = ["0", "-", "-", "-", "it stayed where it was"].map(String::from);
        return vec![std::iter::once(condition.to_string()).chain(nothing).collect()];
    }
    let mut causes: Vec<(Cause, MoveSums)> = causes.into_iter().collect();
    causes.sort_by_key(|(cause, sums)| (std::cmp::Reverse(sums.moves), *cause));
    let row = |(cause, sums): &(Cause, MoveSums)| {
        let judged = |n: u64| if cause.could_stay() { n.to_string() } else { "-".into() };
        vec![
            format!("{condition}: {}", cause.name()),
            sums.moves.to_string(),
            sums.mean_after_ns().map_or("-".into(), duration),
            judged(sums.paid),
            judged(sums.unpaid),
            cause.meaning().into(),
        ]
    };
    causes.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_summed_over_trials_also_without_migrations() {
        let sums = |moves, ran, after_ns| MoveSums { moves, ran, after_ns, ..MoveSums::default() };
        let first =
            vec![(Cause::Periodic, sums(2, 2, 4_000_000)), (Cause::Affinity, sums(1, 0, 0))];
        let second = vec![(Cause::Periodic, sums(1, 1, 2_000_000))];
        let rows = of_condition("one task", &[&first, &second, &Vec::new()]);
        assert_eq!(rows[0][..5], ["one task: periodic", "3", "2.00ms", "0", "0"].map(String::from));
        assert_eq!(rows[1][..5], ["one task: affinity", "1", "-", "-", "-"].map(String::from));
        let stayed = of_condition("one task", &[&Vec::new()]);
        assert_eq!(stayed[0][..2], ["one task", "0"].map(String::from));
    }
}
