//! `exactop load`: workloads of known behaviour, run here so that someone can look at them.

mod ackermann;
mod herd;
mod matmul;
mod progress;
mod until_stopped;

use crate::failure::Failure;
use clap::Subcommand;
use serde_json::{json, Value};

/// Which workload.
#[derive(Debug, Subcommand)]
pub enum LoadArgs {
    /// The thundering herd: a TCP server whose workers wait at one condition variable
    ///
    /// The first thread accepts connections and queues them, and whichever worker gets one closes
    /// it. Each connection wakes all workers or one. The client is a process of its own. Server
    /// and client use a port of 127.0.0.1 that the system chooses. It stops by itself, or at
    /// Ctrl-C, and says what it did.
    Herd(herd::Herd),
    /// The Ackermann function by plain recursion, from ackermann(M, 0) to ackermann(M, N)
    ///
    /// Much CPU time, hardly any memory. Each result is printed when it is there, with the time it
    /// took, and checked.
    Ackermann(ackermann::Ackermann),
    /// Two dense N x N matrices multiplied
    ///
    /// The columns of the result are shared among threads.
    Matmul(matmul::Matmul),
    /// Processes that work off the same number of equal steps, all starting at once
    ///
    /// Prints when each step was done, then throughput and latency: how the scheduler shared the
    /// CPUs, seen from the inside.
    Progress(progress::Progress),
    /// Threads that use CPU time and nothing else
    Spin(until_stopped::Spin),
    /// Processes that do nothing
    Sleepers(until_stopped::Sleepers),
    /// Children that come and go: /bin/true again and again
    Spawn(until_stopped::Spawn),
    /// Two threads that pass a byte to and fro over pipes
    Pingpong(until_stopped::Pingpong),
}

/// Runs it until it is done, its time is over or someone ends it.
///
/// # Errors
/// What it could not get, or a wrong result.
pub fn run(typed: &LoadArgs) -> Result<(), Failure> {
    match typed {
        LoadArgs::Herd(options) => herd::run(options),
        LoadArgs::Ackermann(options) => ackermann::run(options),
        LoadArgs::Matmul(options) => matmul::run(options),
        LoadArgs::Progress(options) => progress::run(options),
        LoadArgs::Spin(options) => options.run(),
        LoadArgs::Sleepers(options) => options.run(),
        LoadArgs::Spawn(options) => options.run(),
        LoadArgs::Pingpong(options) => options.run(),
    }
}

/// One line of JSON with what every workload says of itself.
fn line(load: &str, fields: Value) -> String {
    let mut object = json!({
        "schema": { "name": "exactop.load", "version": 1 },
        "load": load,
    });
    if let (Some(object), Value::Object(fields)) = (object.as_object_mut(), fields) {
        object.extend(fields);
    }
    format!("{object}\n")
}

/// How many CPUs this process may use.
fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A number of threads, processes or lanes.
fn some(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=1_000_000) => Ok(n),
        _ => Err("write a number from 1".into()),
    }
}

/// How many of something there are each second.
fn rate(what: &'static str) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync {
    move |text| match text.parse() {
        Ok(rate) if rate > 0.0 && rate <= 1e6 => Ok(rate),
        _ => Err(format!("write {what}, more than 0 and up to a million")),
    }
}
