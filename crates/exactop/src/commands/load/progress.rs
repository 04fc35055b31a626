//! `exactop load progress`.

use super::line;
use crate::failure::Failure;
use crate::output;
use clap::Args;
use exactop_model::words::units::duration;
use exactop_workloads::compute::progress::{self, Options, Step};
use serde_json::json;
use std::fmt::Write;

/// Options of `exactop load progress`.
#[derive(Debug, Args)]
pub struct Progress {
    /// Start N processes
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = few)]
    procs: usize,
    /// Run N steps in each
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = super::some)]
    steps: usize,
    /// Run LOOPS loops in a step; auto: as many as take half a millisecond of CPU time
    #[arg(long, value_name = "auto|LOOPS", default_value = "auto", value_parser = loops)]
    work: Work,
    /// Set the nicenesses of the first processes, such as 0,5; a value below the current one needs
    /// root
    #[arg(long, value_name = "N[,N...]", value_delimiter = ',', allow_hyphen_values = true,
          value_parser = niceness)]
    nice: Vec<i32>,
    /// Print one JSON object per line for each step, and one at the end
    #[arg(long)]
    json: bool,
}

/// Number of loops in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Auto,
    Loops(u64),
}

/// Parses one niceness.
fn niceness(text: &str) -> Result<i32, String> {
    match text.parse() {
        Ok(nice @ -20..=19) => Ok(nice),
        _ => Err("write nicenesses of -20 to 19".into()),
    }
}

fn few(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=512) => Ok(n),
        _ => Err("write 1 to 512 processes".into()),
    }
}

fn loops(text: &str) -> Result<Work, String> {
    match text.parse() {
        _ if text.eq_ignore_ascii_case("auto") => Ok(Work::Auto),
        Ok(n) if n > 0 => Ok(Work::Loops(n)),
        _ => Err("write auto or a number of loops from 1".into()),
    }
}

/// Runs the processes, then prints all steps and their sums.
///
/// # Errors
/// A process ended early. A signal ends all of them at once.
pub fn run(options: &Progress) -> Result<(), Failure> {
    let loops = match options.work {
        Work::Auto => progress::loops_of_a_step(),
        Work::Loops(loops) => loops,
    };
    let how =
        Options { procs: options.procs, steps: options.steps, loops, nice: options.nice.clone() };
    let all = progress::run(&how).map_err(Failure::failed)?;
    if all.iter().any(|steps| steps.len() != options.steps + 1) {
        let why = match options.nice.is_empty() {
            true => {
                "a process ended before its last step: run it again, and look for what killed it"
            }
            false => {
                "a process ended before its last step: run as root, as a lower niceness needs it"
            }
        };
        return Err(Failure::failed(why));
    }
    output::print(if options.json { as_json(&how, &all) } else { as_text(&how, &all) })
}

/// Steps of all processes in order of time.
fn in_order(all: &[Vec<Step>]) -> Vec<&Step> {
    let mut steps: Vec<&Step> = all.iter().flatten().collect();
    steps.sort_by_key(|s| (s.elapsed_ns, s.id));
    steps
}

fn as_json(how: &Options, all: &[Vec<Step>]) -> String {
    let mut out = String::new();
    for step in in_order(all) {
        let fields = json!({
            "id": step.id,
            "pid": step.pid,
            "step": step.step,
            "elapsed_ns": step.elapsed_ns,
        });
        out += &line("progress", fields);
    }
    let latencies: Vec<u64> = all.iter().filter_map(|s| s.last()).map(|s| s.elapsed_ns).collect();
    let fields = json!({
        "event": "done",
        "procs": how.procs,
        "steps": how.steps,
        "loops": how.loops,
        "elapsed_ns": progress::elapsed_ns(all),
        "latency_ns": latencies,
    });
    out + &line("progress", fields)
}

fn as_text(how: &Options, all: &[Vec<Step>]) -> String {
    let mut out = String::from("elapsed_ns\tpid\tstep\n");
    for step in in_order(all) {
        // Writing to memory cannot fail.
        let _ = writeln!(out, "{}\t{}\t{}", step.elapsed_ns, step.pid, step.step);
    }
    let elapsed_ns = progress::elapsed_ns(all);
    let _ = writeln!(
        out,
        "\n{} processes, {} steps of {} loops each, in {}: {:.3} processes a second",
        how.procs,
        how.steps,
        how.loops,
        duration(elapsed_ns),
        how.procs as f64 / (elapsed_ns as f64 / 1e9),
    );
    for last in all.iter().filter_map(|steps| steps.last()) {
        let _ = writeln!(out, "latency of {}: {}", last.pid, duration(last.elapsed_ns));
    }
    out
}
