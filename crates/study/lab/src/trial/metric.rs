//! Computes the figure of a trial.

use super::workers::Workers;
use super::{progress, Setup, TrialData, Trouble};
use crate::definition::Metric;
use crate::record::Point;
use exactop_model::run::statistics::median;
use exactop_model::Window;

/// Output of `exactop load herd`.
#[derive(serde::Deserialize)]
struct Herd {
    served: u64,
    server_cpu_ns: u64,
}

/// The figure; `None` if the divisor is 0.
pub(super) fn value(
    setup: &Setup,
    point: &Point,
    workers: &Workers,
    cpus: &[usize],
    taken: &TrialData,
) -> Result<Option<f64>, Trouble> {
    let specs = &setup.condition.workers;
    // Sum by worker: processes of one kind together.
    let mut run = vec![0u64; specs.len()];
    for (started, seen) in workers.started.iter().zip(&point.workers) {
        run[started.worker] += seen.run_ns.ok_or(missing("a worker's CPU time"))?;
    }
    let counted: Vec<usize> = (0..run.len()).filter(|&i| !specs[i].background).collect();
    let first = counted[0];
    let all: u64 = counted.iter().map(|&i| run[i]).sum();
    Ok(match setup.metric {
        Metric::Share => over(run[first], all),
        Metric::Ratio => over(run[first], counted.get(1).map_or(0, |&i| run[i])),
        Metric::Cpu => over(run[first], point.window_ns),
        Metric::Machine => over(all, point.window_ns * cpus.len() as u64),
        Metric::Named => {
            let window = taken.window.as_ref().ok_or(missing("a window"))?;
            let time = |of: fn(&exactop_model::CpuSample) -> u64| {
                window.cpus.iter().map(|cpu| of(&cpu.time)).sum::<u64>()
            };
            // A CPU's time without a name may not have been executed on that CPU.
            let executed = time(|t| t.task_ns + t.unnamed_ns);
            let unnamed = time(|t| t.unnamed_ns + t.no_name_ns);
            over(executed.saturating_sub(unnamed), executed)
        }
        Metric::TopSum => Some(taken.top.ok_or(missing("top's sum"))?),
        Metric::NiceTime => nice_time(taken.window.as_ref(), cpus),
        Metric::Niceness => {
            let of_first = workers.started.iter().find(|s| s.worker == first);
            let nice = of_first.and_then(|s| s.niceness).ok_or(missing("the niceness"))?;
            Some(nice as f64)
        }
        Metric::Throttled => {
            let periods = taken.periods.ok_or(missing("a group"))?;
            over(periods.throttled, periods.all)
        }
        Metric::Burst => {
            median(&taken.bursts.as_ref().ok_or(missing("the switch log"))?.lengths_ms)
        }
        Metric::Period => {
            median(&taken.bursts.as_ref().ok_or(missing("the switch log"))?.apart_ms())
        }
        Metric::Migrations => {
            let of_first = workers.started.iter().zip(&point.workers);
            let own = of_first.filter(|(s, _)| s.worker == first);
            let moves: Option<u64> = own.map(|(_, seen)| seen.migrations).sum();
            over(moves.ok_or(missing("the moves"))? * 1_000_000_000, point.window_ns)
        }
        told_by => worker_figure(told_by, workers)?,
    })
}

fn missing(what: &str) -> Trouble {
    Trouble::Trial(format!("no figure for {what}"))
}

fn over(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// A figure that the first worker reports itself.
fn worker_figure(metric: Metric, workers: &Workers) -> Result<Option<f64>, Trouble> {
    let first = workers.specs.iter().position(|spec| !spec.background);
    let output = workers.started.iter().find(|s| Some(s.worker) == first).map(|s| &s.output);
    let text = output.ok_or(missing("the first worker"))?;
    let done = || progress::done(text).ok_or(missing("the last step"));
    Ok(match metric {
        Metric::Throughput => {
            let done = done()?;
            over(done.steps * done.procs * 1_000_000_000, done.elapsed_ns)
        }
        Metric::Latency => Some(done()?.elapsed_ns as f64 / 1e9),
        Metric::ProgressShare => {
            Some(progress::share_until_first(text).ok_or(missing("the steps"))?)
        }
        Metric::PerConnection => {
            let herd: Herd =
                serde_json::from_str(text.trim()).map_err(|_| missing("what the server said"))?;
            over(herd.server_cpu_ns, herd.served * 1_000)
        }
        _ => None,
    })
}

/// Nice time over user and nice time, on the lab's CPUs.
fn nice_time(window: Option<&Window>, cpus: &[usize]) -> Option<f64> {
    let ours = window?.cpu_ticks.iter().filter(|(cpu, _)| cpus.contains(&(*cpu as usize)));
    let (nice, user) = ours.fold((0, 0), |(n, u), (_, ticks)| (n + ticks.nice, u + ticks.user));
    (nice + user > 0).then(|| nice as f64 / (nice + user) as f64)
}
