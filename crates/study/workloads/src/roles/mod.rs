//! Roles of the worker program: one module per workload, with a common supervisor.
//!
//! A role starts its load, reports it (`desk`), and answers requests until it is killed. It needs
//! no clean exit: the `supervisor` kills and reaps all of it.

mod auto_reaped;
mod crowd;
mod desk;
mod exec_threads;
mod exiting_threads;
mod fork_storm;
mod herd;
mod pipe_pingpong;
mod signal_storm;
mod sleepers;
mod spin;
mod stop_continue;
mod supervisor;
mod tickers;

use crate::children;
use crate::error::Refusal;
use std::process::ExitCode;

/// A role: takes its arguments; returns only if cannot start the load.
type Role = fn(&[String]) -> Result<std::convert::Infallible, Refusal>;

const ROLES: [(&str, Role); 12] = [
    ("auto-reaped", auto_reaped::run),
    ("crowd", crowd::run),
    ("exec-threads", exec_threads::run),
    ("exiting-threads", exiting_threads::run),
    ("fork-storm", fork_storm::run),
    ("herd", herd::run),
    ("pipe-pingpong", pipe_pingpong::run),
    ("signal-storm", signal_storm::run),
    ("sleepers", sleepers::run),
    ("spin", spin::run),
    ("stop-continue", stop_continue::run),
    ("tickers", tickers::run),
];

/// Main function of the worker program.
pub fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, args)) = args.split_first() else { return usage() };
    if name == exec_threads::AGAIN {
        return exec_threads::again(args);
    }
    let Some((name, role)) = ROLES.iter().find(|(role, _)| role == name) else { return usage() };
    if let Err(error) = supervisor::split() {
        desk::refuse(&Refusal::other(error));
        return ExitCode::FAILURE;
    }
    children::set_name(&format!("lab-{name}"));
    let Err(refusal) = role(args);
    desk::refuse(&refusal);
    ExitCode::FAILURE
}

fn usage() -> ExitCode {
    eprintln!("exactop-workload-worker: started by exactop-workloads, for one of:");
    for (name, _) in ROLES {
        eprintln!("  {name}");
    }
    ExitCode::from(2)
}

/// Parses the argument at index `at` as a number.
fn number(args: &[String], at: usize) -> Result<usize, Refusal> {
    let word = args.get(at).map_or("", String::as_str);
    word.parse().map_err(|_| Refusal::Other(format!("argument {at} is {word:?}: write a number")))
}
