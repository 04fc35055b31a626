//! The books of a made-up fleet, as Parquet.
//!
//! The seed decides what goes wrong ([`crate::plan`]). `simulated.json` beside the tables records
//! it, so that tests can compare a reader's findings with it ([`crate::deliver`]).

use crate::deliver::{self, Delivered};
use crate::options::Args;
use crate::plan::{Host, Plan};
use anyhow::{ensure, Context, Result};
use exactop_files::Directory;
use jiff::Timestamp;
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

pub fn run(args: &Args) -> Result<()> {
    let begun = Instant::now();
    let delivered = simulate(args)?;
    let rows: u64 = delivered.iter().map(|host| host.rows).sum();
    let bytes: u64 = delivered.iter().map(|host| host.bytes).sum();
    println!(
        "{} hosts, {rows} windows, {bytes} bytes in {:.1} s: {}",
        delivered.len(),
        begun.elapsed().as_secs_f64(),
        args.output.display()
    );
    Ok(())
}

/// Simulates the fleet; returns the deliveries of each host, in the order of the plan.
fn simulate(args: &Args) -> Result<Vec<Delivered>> {
    let plan = Plan::from_args(args)?;
    let into = Directory::open_or_make(&args.output)?;
    ensure!(into.names()?.is_empty(), "{} is not empty", args.output.display());
    let next = AtomicUsize::new(0);
    let worker = || -> Result<Vec<(usize, Delivered)>> {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(host) = plan.hosts.get(at) else { return Ok(done) };
            let delivered = deliver::host(&plan, host, &into);
            done.push((at, delivered.with_context(|| format!("host {}", host.name))?));
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let mut all: Vec<(usize, Delivered)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        let ended = workers.into_iter().map(|worker| worker.join().expect("a worker that ends"));
        ended.collect::<Result<Vec<_>>>().map(|parts| parts.into_iter().flatten().collect())
    })?;
    all.sort_by_key(|(at, _)| *at);
    let delivered: Vec<Delivered> = all.into_iter().map(|(_, delivered)| delivered).collect();
    into.replace("simulated.json", truth(args, &plan, &delivered).as_bytes())?;
    Ok(delivered)
}

/// Content of the tables, and their errors, as JSON.
fn truth(args: &Args, plan: &Plan, delivered: &[Delivered]) -> String {
    let instant = |ns: i128| Timestamp::from_nanosecond(ns).map_or("-".into(), |at| at.to_string());
    let host = |(host, told): (&Host, &Delivered)| {
        json!({
            "host": host.name,
            "mix": host.mix.name(),
            "cpus": host.cpus,
            "rows": told.rows,
            "windows": told.windows,
            "doubled_rows": told.rows - told.windows,
            "late_windows": told.late,
            "lost_windows": told.lost,
            "gaps": told.gaps,
            "gaps_ns": told.gaps_ns,
            "boots": told.boots,
            "capacity_ns": told.capacity_ns.to_string(),
            "waited_ns": told.waited_ns.to_string(),
            "skew_ns": host.skew_ns,
            "is_dead": host.dead_at.is_some(),
        })
    };
    let value = json!({
        "seed": args.seed,
        "window_ns": plan.window_ns,
        "begins": instant(plan.begin_ns),
        "rolled_out": instant(plan.begin_ns + i128::from(plan.windows / 2 * plan.window_ns)),
        "ends": instant(plan.begin_ns + i128::from(plan.windows * plan.window_ns)),
        "changed": "-next$",
        "hosts": plan.hosts.iter().zip(delivered).map(host).collect::<Vec<_>>(),
    });
    format!("{value}\n")
}

#[cfg(test)]
mod tests;
