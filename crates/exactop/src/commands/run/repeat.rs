//! Many runs, under several conditions in turns, so that what changes on the machine meanwhile hits
//! all of them alike.

use super::condition::Condition;
use super::relay::Relay;
use super::{one_run, ours, report, Command};
use crate::failure::Failure;
use exactop_views::run::repeat::{json, text, Series};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;

/// Runs all of them, then reports.
///
/// # Errors
/// Always: with 0 if every run ended so, else with the status of the first that did not; a command
/// that cannot be started ends it at once, and a signal that asks for an end after the run it hit.
pub fn run(command: &Command, times: u64, relay: &mut Relay) -> Result<(), Failure> {
    let mut all: Vec<(Condition, Series)> = conditions(command);
    let rounds = command.warmup + times;
    let progress = progress(rounds * all.len() as u64);
    let mut status = 0;
    for round in 0..rounds {
        for turn in 0..all.len() {
            // Another one begins each round.
            let at = (round as usize + turn) % all.len();
            let (condition, series) = &mut all[at];
            progress.set_message(series.label.clone());
            let report =
                one_run::run(command, condition, relay).map_err(|failed| match failed {
                    one_run::Failed::Start(status, why) => Failure::Ended(status, Some(why)),
                    one_run::Failed::Ours(why) => Failure::Ended(super::OURS, Some(why)),
                })?;
            if let Some(signal) = relay.end() {
                progress.finish_and_clear();
                return Err(Failure::Signal(signal));
            }
            if status == 0 {
                status = report.end.status();
            }
            if round >= command.warmup {
                series.runs.push(report);
            }
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    let all: Vec<Series> = all.into_iter().map(|(_, series)| series).collect();
    let words = if command.quiet { String::new() } else { text(&all) };
    let object = format!("{}\n", json(&all));
    ours(report::put(&words, command.output.as_deref(), &object, command.json.as_deref()))?;
    Err(Failure::Ended(u8::try_from(status & 0xff).unwrap_or(super::OURS), None))
}

/// Those to compare, each completed by what holds for all; else that alone.
fn conditions(command: &Command) -> Vec<(Condition, Series)> {
    let series = |label: &str| Series { label: label.into(), runs: Vec::new() };
    if command.compare.is_empty() {
        return vec![(command.condition.clone(), series(""))];
    }
    let compared = command.compare.iter();
    compared.map(|c| (c.condition.or(&command.condition), series(&c.label))).collect()
}

/// A bar with the time that is left, on a terminal.
fn progress(runs: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {eta} left  {msg}");
    ProgressBar::new(runs).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
