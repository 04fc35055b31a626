//! Runs the command many times, alternating the conditions, so that changes on the machine affect
//! all conditions equally.

use super::condition::Condition;
use super::relay::Relay;
use super::{as_its_own, one_run, report, RunArgs};
use crate::exit_code;
use crate::failure::Failure;
use crate::output::bar;
use exactop_views::run::repeat::{json, text, Series};

/// Runs all repeats, then reports.
///
/// # Errors
/// Always: with 0 if every run ended with 0, else with the status of the first that did not. A
/// command that cannot start ends the series at once; a signal ends it after the current run.
pub fn run(typed: &RunArgs, times: u64, relay: &mut Relay) -> Result<(), Failure> {
    let mut all: Vec<(Condition, Series)> = conditions(typed);
    let rounds = typed.warmup + times;
    let progress = bar("{bar:30} {pos}/{len} runs, {eta} left  {msg}", rounds * all.len() as u64);
    let mut status = 0;
    for round in 0..rounds {
        for turn in 0..all.len() {
            // Each round begins with another condition.
            let at = (round as usize + turn) % all.len();
            let (condition, series) = &mut all[at];
            progress.set_message(series.label.clone());
            let report = one_run::run(typed, condition, relay, None)?;
            if let Some(signal) = relay.end() {
                progress.finish_and_clear();
                return Err(Failure::Signal(signal));
            }
            if status == 0 {
                status = report.end.status();
            }
            if round >= typed.warmup {
                series.runs.push(report);
            }
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    let all: Vec<Series> = all.into_iter().map(|(_, series)| series).collect();
    let words = if typed.quiet { String::new() } else { text(&all) };
    let object = format!("{}\n", json(&all));
    let put = report::put(&words, typed.output.as_deref(), &object, typed.json.as_deref());
    put.map_err(as_its_own)?;
    Err(Failure::Ended(exit_code::of_command(status), None))
}

/// The conditions to compare, completed by those that hold for all; else only the latter.
fn conditions(typed: &RunArgs) -> Vec<(Condition, Series)> {
    let series = |label: &str| Series { label: label.into(), runs: Vec::new() };
    if typed.compare.is_empty() {
        return vec![(typed.condition.clone(), series(""))];
    }
    let compared = typed.compare.iter();
    compared.map(|c| (c.condition.or(&typed.condition), series(&c.label))).collect()
}
