//! `exactop load ackermann`.

use super::line;
use crate::failure::Failure;
use crate::output::Signals;
use clap::Args;
use exactop_model::words::units::duration;
use exactop_workloads::compute::ackermann::{self, Answer, Threads, MAX_M, MAX_N};
use serde_json::json;
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Options of `exactop load ackermann`.
#[derive(Debug, Args)]
pub struct Ackermann {
    /// Set the first argument, 0 to 3
    #[arg(long, value_name = "M", default_value_t = 3, value_parser = first)]
    m: u64,
    /// Set the last second argument, 0 to 16
    #[arg(long, value_name = "N", default_value_t = 13, value_parser = second)]
    n: u64,
    /// Compute all results in one thread (single), each in its own (per-task), or in this number of
    /// threads
    #[arg(long, value_name = "HOW", default_value = "single", value_parser = threads)]
    threads: Threads,
    /// Compute each result twice
    #[arg(long)]
    twice: bool,
    /// Print one JSON object per line for each result
    #[arg(long)]
    json: bool,
}

fn first(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(m) if m <= MAX_M => Ok(m),
        _ => Err(format!("write 0 to {MAX_M}: with more, the results have too many digits")),
    }
}

fn second(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(n) if n <= MAX_N => Ok(n),
        _ => Err(format!("write 0 to {MAX_N}: with more, the recursion is too deep")),
    }
}

fn threads(text: &str) -> Result<Threads, String> {
    match text {
        "single" => Ok(Threads::Single),
        "per-task" => Ok(Threads::PerTask),
        _ => super::some(text)
            .map(Threads::Number)
            .map_err(|_| "write single, per-task or a number of threads".into()),
    }
}

/// Computes and prints each result.
///
/// # Errors
/// A result is wrong, threads cannot be started, or a signal ended it.
pub fn run(options: &Ackermann) -> Result<(), Failure> {
    let signals = Signals::new()?;
    let (tell, told) = channel();
    let Ackermann { m, n, threads, twice, json } = *options;
    ackermann::start(m, n, twice, threads, &tell)
        .map_err(|error| Failure::failed(format!("cannot start a thread: {error}")))?;
    drop(tell);
    let mut wrong = 0;
    loop {
        match told.recv_timeout(Duration::from_millis(50)) {
            Ok(answer) => {
                wrong += u32::from(!answer.right);
                signals.write(text(&answer, json).as_bytes())?;
            }
            Err(RecvTimeoutError::Timeout) => signals.sleep_until(Instant::now())?,
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    match wrong {
        0 => Ok(()),
        n => Err(Failure::failed(format!(
            "{n} results are wrong: check the memory and the CPU of this machine"
        ))),
    }
}

fn text(answer: &Answer, json: bool) -> String {
    let Answer { m, n, value, right, elapsed_ns } = *answer;
    if json {
        let fields =
            json!({ "m": m, "n": n, "value": value, "right": right, "elapsed_ns": elapsed_ns });
        return line("ackermann", fields);
    }
    let wrong = if right { "" } else { "  WRONG" };
    format!("ackermann({m}, {n}) = {value} in {}{wrong}\n", duration(elapsed_ns))
}
