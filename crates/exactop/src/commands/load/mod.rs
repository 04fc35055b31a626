//! `exactop load`: runs workloads of known behaviour as demonstrations.

mod ackermann;
mod herd;
mod matmul;
mod progress;
mod until_stopped;

use crate::failure::Failure;
use clap::Subcommand;
use serde_json::{json, Value};

/// Workloads of `exactop load`.
#[derive(Debug, Subcommand)]
pub enum LoadArgs {
    /// Run the thundering herd: a TCP server whose workers wait on one condition variable
    ///
    /// The first thread accepts connections and queues them; the worker that takes a connection
    /// closes it. Each connection wakes all workers or one. The client is a separate process.
    /// Server and client use a port of 127.0.0.1 that the system chooses. The herd stops by itself
    /// or at Ctrl-C, and prints its figures.
    Herd(herd::Herd),
    /// Compute the Ackermann function by plain recursion, from ackermann(M, 0) to ackermann(M, N)
    ///
    /// It uses much CPU time and hardly any memory. It prints each result as it comes, with its
    /// time, and checks it.
    Ackermann(ackermann::Ackermann),
    /// Multiply two dense N x N matrices
    ///
    /// The threads share the columns of the result.
    Matmul(matmul::Matmul),
    /// Run processes that do the same number of equal steps, all starting at once
    ///
    /// It prints when each step was done, then throughput and latency: how the scheduler shared the
    /// CPUs, seen from the inside.
    Progress(progress::Progress),
    /// Run threads that use CPU time and nothing else
    Spin(until_stopped::Spin),
    /// Run processes that do nothing
    Sleepers(until_stopped::Sleepers),
    /// Run children that come and go: /bin/true again and again
    Spawn(until_stopped::Spawn),
    /// Run two threads that pass a byte back and forth over pipes
    Pingpong(until_stopped::Pingpong),
}

/// Runs until the work is done, its time is over or a signal ends it.
///
/// # Errors
/// A resource is missing, or a result is wrong.
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

/// One line of JSON with the fields that every workload has.
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

/// Number of CPUs that this process may use.
fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Parses a number of threads, processes or lanes.
fn some(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=1_000_000) => Ok(n),
        _ => Err("write a number from 1".into()),
    }
}

/// Parses a rate per second.
fn rate(what: &'static str) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync {
    move |text| match text.parse() {
        Ok(rate) if rate > 0.0 && rate <= 1e6 => Ok(rate),
        _ => Err(format!("write {what}, more than 0 and up to a million")),
    }
}
