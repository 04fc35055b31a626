//! `exactop load spin`, `sleepers`, `spawn` and `pingpong`: they run until their time is over or a
//! signal ends them, and then print their figures.

use super::line;
use crate::failure::Failure;
use crate::output::Signals;
use clap::Args;
use exactop_model::words::units::duration;
use exactop_workloads::compute::{children, pingpong, spin};
use serde_json::{json, Value};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::Write;
use std::time::{Duration, Instant};

/// Options of these workloads.
#[derive(Debug, Args)]
struct Until {
    /// Stop after this time
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = crate::options::parse::seconds, allow_hyphen_values = true)]
    duration: f64,
    /// Print one JSON object each second and at the end
    #[arg(long)]
    json: bool,
}

impl Until {
    /// Runs a load until its time is over or a signal ends it, then prints its figures. `what`
    /// begins with its name. `progress` is printed each second with `--json`. `end` takes the run's
    /// length in ns, stops the load and returns its last line as JSON and as text.
    fn run<L>(
        &self,
        what: &str,
        load: L,
        signals: &Signals,
        progress: impl Fn(&L) -> Value,
        end: impl FnOnce(L, u64) -> (Value, String),
    ) -> Result<(), Failure> {
        let (pid, seconds) = (std::process::id(), self.duration);
        // A write error is ignored: standard error may be closed.
        let _ = writeln!(
            std::io::stderr(),
            "{what}: process {pid}; stops after {seconds} s or at Ctrl-C"
        );
        let name = what.split(',').next().unwrap_or(what);
        let tell = |event: &str, mut fields: Value, elapsed_ns: u64| {
            fields["event"] = event.into();
            fields["elapsed_ns"] = elapsed_ns.into();
            signals.write(line(name, fields).as_bytes())
        };
        let began = Instant::now();
        let over = began + Duration::from_secs_f64(self.duration);
        let mut due = began;
        while Instant::now() < over {
            due = (due + Duration::from_secs(1)).min(over);
            match signals.sleep_until(due) {
                Err(Failure::Signal(SIGINT | SIGTERM)) => break,
                other => other?,
            }
            if self.json && due < over {
                tell("running", progress(&load), elapsed(began))?;
            }
        }
        let elapsed_ns = elapsed(began);
        let (fields, text) = end(load, elapsed_ns);
        match self.json {
            true => tell("done", fields, elapsed_ns),
            false => signals.write(text.as_bytes()),
        }
    }
}

fn elapsed(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn no_thread(error: std::io::Error) -> Failure {
    Failure::failed(format!("cannot start a thread: {error}"))
}

/// Options of `exactop load spin`.
#[derive(Debug, Args)]
pub struct Spin {
    /// Start N threads [default: one for each CPU]
    #[arg(long, value_name = "N", value_parser = super::some)]
    threads: Option<usize>,
    /// Keep each thread busy for this part of every 20 ms, in per cent; it sleeps for the rest
    #[arg(long, value_name = "PCT", default_value_t = 100.0, value_parser = busy, allow_hyphen_values = true)]
    busy: f64,
    #[command(flatten)]
    until: Until,
}

fn busy(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse() {
        Ok(pct) if pct > 0.0 && pct <= 100.0 => Ok(pct),
        _ => Err("write per cent, more than 0 and up to 100".into()),
    }
}

impl Spin {
    /// Spins.
    ///
    /// # Errors
    /// Threads cannot be started.
    pub fn run(&self) -> Result<(), Failure> {
        let signals = Signals::new()?;
        let threads = self.threads.unwrap_or_else(super::cpus);
        let spin = spin::Spin::start(threads, self.busy / 100.0).map_err(no_thread)?;
        let end = |spin: spin::Spin, elapsed_ns: u64| {
            let cpu_ns = spin.stop();
            let total: u64 = cpu_ns.iter().sum();
            let text = format!(
                "{threads} threads used {} of CPU time in {}: {:.1} % of a CPU\n",
                duration(total),
                duration(elapsed_ns),
                100.0 * total as f64 / elapsed_ns.max(1) as f64,
            );
            (json!({ "threads": threads, "cpu_ns": cpu_ns }), text)
        };
        let what = format!("spin, {threads} threads");
        self.until.run(&what, spin, &signals, |_| json!({ "threads": threads }), end)
    }
}

/// Options of `exactop load sleepers`.
#[derive(Debug, Args)]
pub struct Sleepers {
    /// Start N processes
    #[arg(value_name = "N", value_parser = super::some)]
    number: usize,
    #[command(flatten)]
    until: Until,
}

impl Sleepers {
    /// Runs the sleepers.
    ///
    /// # Errors
    /// The processes cannot be started.
    pub fn run(&self) -> Result<(), Failure> {
        // The children start before the handlers exist, so that they do not inherit them.
        let sleepers = children::Sleepers::start(self.number).map_err(Failure::failed)?;
        let signals = Signals::new()?;
        let number = sleepers.len();
        let fields = || json!({ "processes": number });
        let end = |sleepers, elapsed_ns| {
            drop(sleepers);
            (fields(), format!("{number} processes slept for {}\n", duration(elapsed_ns)))
        };
        let what = format!("sleepers, {number} processes");
        self.until.run(&what, sleepers, &signals, |_| fields(), end)
    }
}

/// Options of `exactop load spawn`.
#[derive(Debug, Args)]
pub struct Spawn {
    /// Run N children at a time [default: one for each CPU]
    #[arg(long, value_name = "N", value_parser = super::some)]
    procs: Option<usize>,
    /// Start R children a second in all [default: as many as possible]
    #[arg(long, value_name = "R", value_parser = super::rate("children a second"), allow_hyphen_values = true)]
    rate: Option<f64>,
    #[command(flatten)]
    until: Until,
}

impl Spawn {
    /// Starts children.
    ///
    /// # Errors
    /// No child can be started.
    pub fn run(&self) -> Result<(), Failure> {
        let signals = Signals::new()?;
        let procs = self.procs.unwrap_or_else(super::cpus);
        let spawner = children::Spawner::start(procs, self.rate).map_err(no_thread)?;
        let fields = |(children, failed)| json!({ "children": children, "failed": failed });
        let mut counts = (0, 0);
        let end = |spawner: children::Spawner, elapsed_ns| {
            counts = spawner.stop();
            let (children, failed) = counts;
            let text = format!(
                "{children} children in {}, {:.1} a second; {failed} could not be started\n",
                duration(elapsed_ns),
                children as f64 / (elapsed_ns as f64 / 1e9),
            );
            (fields(counts), text)
        };
        let what = format!("spawn, {procs} at a time");
        self.until.run(&what, spawner, &signals, |spawner| fields(spawner.counts()), end)?;
        match counts {
            (0, 1..) => Err(Failure::failed(
                "cannot start /bin/true, not once: raise the limit of processes (ulimit -u)",
            )),
            _ => Ok(()),
        }
    }
}

/// Options of `exactop load pingpong`.
#[derive(Debug, Args)]
pub struct Pingpong {
    #[command(flatten)]
    until: Until,
}

impl Pingpong {
    /// Passes the byte.
    ///
    /// # Errors
    /// Pipes or threads cannot be made.
    pub fn run(&self) -> Result<(), Failure> {
        let signals = Signals::new()?;
        let pingpong = pingpong::PingPong::start().map_err(Failure::failed)?;
        let fields = |pingpong: &pingpong::PingPong| json!({ "rounds": pingpong.rounds() });
        let end = |pingpong: pingpong::PingPong, elapsed_ns: u64| {
            let rounds = pingpong.rounds();
            let each = duration(elapsed_ns / rounds.max(1));
            let text = format!("{rounds} rounds in {}: {each} each\n", duration(elapsed_ns));
            (json!({ "rounds": rounds }), text)
        };
        self.until.run("pingpong", pingpong, &signals, fields, end)
    }
}
