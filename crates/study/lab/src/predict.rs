//! Predictions of theory, from the kernel's own tables.

use crate::definition::{Condition, Experiment, Metric, Predict, Rule, Worker};
use exactop_model::cgroups::limits::Max;

/// Weight of each niceness from -20 on (sched_prio_to_weight of kernel/sched/core.c).
pub const WEIGHTS: [u64; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

const DEFAULT_WEIGHT: u64 = 100;

/// Weight of a niceness, clamped as the kernel does it.
pub fn weight_of_nice(nice: i64) -> u64 {
    WEIGHTS[(nice.clamp(-20, 19) + 20) as usize]
}

/// Prediction for a condition on a machine with `cpus` CPUs; `None` if there is none.
pub fn prediction(experiment: &Experiment, condition: &Condition, cpus: usize) -> Option<f64> {
    match condition.predict? {
        Predict::Figure(figure) => Some(figure),
        Predict::Rule(rule) => by(rule, experiment.metric_of(condition), condition, cpus),
    }
}

/// Quota in CPUs of the group that holds all workers, if there is one.
pub fn common_quota(condition: &Condition) -> Option<f64> {
    let path = condition.workers.first()?.group.as_ref()?;
    let together = condition.workers.iter().all(|worker| worker.group.as_ref() == Some(path));
    let max: Max = condition.groups.get(path)?.max.as_deref()?.parse().ok()?;
    let quota_us = max.quota_us.filter(|_| together)?;
    Some(quota_us as f64 / max.period_us as f64)
}

fn by(rule: Rule, metric: Metric, condition: &Condition, cpus: usize) -> Option<f64> {
    let workers: Vec<&Worker> = condition.workers.iter().filter(|w| !w.background).collect();
    match rule {
        Rule::Nice | Rule::Weight => {
            let share = |worker: &Worker| match rule {
                Rule::Nice => weight_of_nice(worker.nice) as f64 * worker.count.on(cpus) as f64,
                _ => by_groups(worker, condition, &workers, cpus),
            };
            let all: f64 = workers.iter().map(|worker| share(worker)).sum();
            let first = share(workers.first()?);
            match metric {
                Metric::Ratio => Some(first / share(workers.get(1)?)),
                _ => Some(first / all),
            }
        }
        Rule::Quota => {
            let path = workers.first()?.group.as_deref()?;
            let max: Max = condition.groups.get(path)?.max.as_deref()?.parse().ok()?;
            let ms = |us: u64| us as f64 / 1_000.0;
            let (quota, period) = (max.quota_us.map_or(f64::INFINITY, ms), ms(max.period_us));
            match metric {
                Metric::Burst => Some(quota).filter(|quota| quota.is_finite()),
                Metric::Period => Some(period),
                _ => Some((quota / period).min(1.0)),
            }
        }
        Rule::Cpus => {
            let tasks: usize = workers.iter().map(|worker| worker.count.on(cpus)).sum();
            Some(match metric {
                Metric::Cpu => tasks.min(cpus) as f64,
                _ => tasks.min(cpus) as f64 / cpus as f64,
            })
        }
    }
}

/// Share of a worker in the trial's group. At each level: the group's weight over those of all
/// groups there that have workers; at the last level its own weight over those of its neighbours.
fn by_groups(worker: &Worker, condition: &Condition, all: &[&Worker], cpus: usize) -> f64 {
    let path = worker.group.as_deref().unwrap_or("");
    let weight = |path: &str| {
        condition.groups.get(path).and_then(|g| g.weight).unwrap_or(DEFAULT_WEIGHT) as f64
    };
    let busy = |path: &str| {
        let below = format!("{path}/");
        all.iter().filter_map(|w| w.group.as_deref()).any(|g| g == path || g.starts_with(&below))
    };
    let mut share = 1.0;
    let ends = path.match_indices('/').map(|(i, _)| i).chain([path.len()]);
    for end in ends.filter(|&end| end > 0) {
        let here = &path[..end];
        let above = here.rsplit_once('/').map_or("", |(above, _)| above);
        let beside = |other: &&String| other.rsplit_once('/').map_or("", |(a, _)| a) == above;
        let siblings = condition.groups.keys().filter(beside).filter(|other| busy(other));
        share *= weight(here) / siblings.map(|other| weight(other)).sum::<f64>();
    }
    let own = |w: &Worker| weight_of_nice(w.nice) as f64 * w.count.on(cpus) as f64;
    let neighbours = all.iter().filter(|w| w.group == worker.group).map(|w| own(w));
    share * own(worker) / neighbours.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(text: &str) -> (Experiment, Condition) {
        let head = "name='t'\ntitle=''\nquestion=''\nmethod=''\nwhy=''\nmetric='share'\n";
        let experiment = Experiment::read(&format!("{head}[[conditions]]\n{text}"), "t").unwrap();
        let condition = experiment.conditions[0].clone();
        (experiment, condition)
    }

    fn predicted(text: &str) -> f64 {
        let (experiment, condition) = condition(text);
        prediction(&experiment, &condition, 2).unwrap()
    }

    #[test]
    fn niceness_is_shared_by_the_kernels_table() {
        let pair = "name='p'\npredict='nice'\nworkers=[{nice=0},{nice=1}]";
        assert_eq!(predicted(pair), 1024.0 / (1024.0 + 820.0));
        let beyond = "name='p'\npredict='nice'\nworkers=[{nice=-99},{nice=99}]";
        assert_eq!(predicted(beyond), 88761.0 / (88761.0 + 15.0));
    }

    #[test]
    fn weights_are_shared_level_by_level() {
        let two = "name='w'\npredict='weight'\nworkers=[{group='a/x'},{group='a/y'},{group='b'}]\n\
                   groups={a={weight=300},'a/x'={},'a/y'={weight=300},b={},idle={weight=9999}}";
        assert_eq!(predicted(two), 0.75 * 0.25);
    }

    #[test]
    fn a_quota_is_limited_by_the_number_of_tasks() {
        let capped = "name='q'\nmetric='cpu'\npredict='quota'\nworkers=[{group='a'}]\ngroups={a={max='40%'}}";
        assert_eq!(predicted(capped), 0.4);
        let wide = "name='q'\nmetric='cpu'\npredict='quota'\nworkers=[{group='a'}]\ngroups={a={max='300%'}}";
        assert_eq!(predicted(wide), 1.0);
        let of = |metric| {
            let group = "predict='quota'\nworkers=[{group='a'}]\ngroups={a={max='2000/20000'}}";
            predicted(&format!("name='q'\nmetric='{metric}'\n{group}"))
        };
        let capped = "name='q'\nworkers=[{group='a'}, {group='a'}]\ngroups={a={max='40%'}, b={}}";
        assert_eq!(common_quota(&condition(capped).1), Some(0.4));
        let beside = capped.replacen("{group='a'}", "{group='b'}", 1);
        assert_eq!(common_quota(&condition(&beside).1), None);
        assert_eq!((of("burst"), of("period")), (2.0, 20.0));
    }

    #[test]
    fn tasks_fill_as_many_cpus_as_there_are() {
        assert_eq!(predicted("name='c'\nmetric='machine'\npredict='cpus'\nworkers=[{}]"), 0.5);
        let more = "name='c'\nmetric='machine'\npredict='cpus'\nworkers=[{count='cpus+1'}]";
        assert_eq!(predicted(more), 1.0);
    }
}
