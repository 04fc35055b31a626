//! `exactop load spin`, `sleepers`, `spawn` and `pingpong`: they go on until their time is over or
//! someone ends them, and then say what they did.

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

/// When it ends and what it prints.
#[derive(Debug, Args)]
struct Until {
    /// When it stops by itself
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = crate::options::parse::seconds, allow_hyphen_values = true)]
    duration: f64,
    /// One JSON object each second and at the end
    #[arg(long)]
    json: bool,
}

impl Until {
    /// Waits; each second `progress` is printed if someone reads JSON. How long it was, ns.
    fn wait(
        &self,
        name: &str,
        signals: &Signals,
        progress: impl Fn() -> Value,
    ) -> Result<u64, Failure> {
        let began = Instant::now();
        let end = began + Duration::from_secs_f64(self.duration);
        let mut due = began;
        while Instant::now() < end {
            due = (due + Duration::from_secs(1)).min(end);
            match signals.sleep_until(due) {
                Err(Failure::Signal(SIGINT | SIGTERM)) => break,
                other => other?,
            }
            if self.json && due < end {
                let mut fields = progress();
                fields["event"] = "running".into();
                fields["elapsed_ns"] = elapsed(began).into();
                signals.write(line(name, fields).as_bytes())?;
            }
        }
        Ok(elapsed(began))
    }

    /// The last word.
    fn done(
        &self,
        name: &str,
        signals: &Signals,
        elapsed_ns: u64,
        mut fields: Value,
        text: String,
    ) -> Result<(), Failure> {
        if !self.json {
            return signals.write(text.as_bytes());
        }
        fields["event"] = "done".into();
        fields["elapsed_ns"] = elapsed_ns.into();
        signals.write(line(name, fields).as_bytes())
    }
}

fn elapsed(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Where to look. Nobody needs to listen.
fn tell(what: &str, until: &Until) {
    let (pid, seconds) = (std::process::id(), until.duration);
    let _ =
        writeln!(std::io::stderr(), "{what}: process {pid}; stops after {seconds} s or at Ctrl-C");
}

/// How many threads.
#[derive(Debug, Args)]
pub struct Spin {
    /// Threads [default: one for each CPU]
    #[arg(long, value_name = "N", value_parser = super::some)]
    threads: Option<usize>,
    /// Per cent of its time that each thread is busy; it sleeps for the rest of every 20 ms
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
    /// When threads cannot be had.
    pub fn run(&self) -> Result<(), Failure> {
        let signals = Signals::new()?;
        let threads = self.threads.unwrap_or_else(super::cpus);
        let spin = spin::Spin::start(threads, self.busy / 100.0)
            .map_err(|error| Failure::failed(format!("cannot start a thread: {error}")))?;
        tell(&format!("spin, {threads} threads"), &self.until);
        let elapsed_ns = self.until.wait("spin", &signals, || json!({ "threads": threads }))?;
        let cpu_ns = spin.stop();
        let total: u64 = cpu_ns.iter().sum();
        let text = format!(
            "{threads} threads used {} of CPU time in {}: {:.1} % of a CPU\n",
            duration(total),
            duration(elapsed_ns),
            100.0 * total as f64 / elapsed_ns.max(1) as f64,
        );
        let fields = json!({ "threads": threads, "cpu_ns": cpu_ns });
        self.until.done("spin", &signals, elapsed_ns, fields, text)
    }
}

/// How many processes.
#[derive(Debug, Args)]
pub struct Sleepers {
    /// Processes
    #[arg(value_name = "N", value_parser = super::some)]
    number: usize,
    #[command(flatten)]
    until: Until,
}

impl Sleepers {
    /// Sleeps.
    ///
    /// # Errors
    /// When there cannot be so many.
    pub fn run(&self) -> Result<(), Failure> {
        // Before the handlers: the children are not to inherit them.
        let sleepers = children::Sleepers::start(self.number).map_err(Failure::failed)?;
        let signals = Signals::new()?;
        let number = sleepers.len();
        tell(&format!("sleepers, {number} processes"), &self.until);
        let wait = self.until.wait("sleepers", &signals, || json!({ "processes": number }));
        drop(sleepers);
        let elapsed_ns = wait?;
        let text = format!("{number} processes slept for {}\n", duration(elapsed_ns));
        self.until.done("sleepers", &signals, elapsed_ns, json!({ "processes": number }), text)
    }
}

/// How many children.
#[derive(Debug, Args)]
pub struct Spawn {
    /// Children at a time [default: one for each CPU]
    #[arg(long, value_name = "N", value_parser = super::some)]
    procs: Option<usize>,
    /// Children a second, all together [default: as many as can be]
    #[arg(long, value_name = "R", value_parser = rate, allow_hyphen_values = true)]
    rate: Option<f64>,
    #[command(flatten)]
    until: Until,
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if rate > 0.0 && rate <= 1e6 => Ok(rate),
        _ => Err("write children a second, more than 0 and up to a million".into()),
    }
}

impl Spawn {
    /// Starts children.
    ///
    /// # Errors
    /// When none can be started.
    pub fn run(&self) -> Result<(), Failure> {
        let signals = Signals::new()?;
        let procs = self.procs.unwrap_or_else(super::cpus);
        let spawner = children::Spawner::start(procs, self.rate)
            .map_err(|error| Failure::failed(format!("cannot start a thread: {error}")))?;
        tell(&format!("spawn, {procs} at a time"), &self.until);
        let counts = || json!({ "children": spawner.counts().0, "failed": spawner.counts().1 });
        let elapsed_ns = self.until.wait("spawn", &signals, counts)?;
        let (children, failed) = spawner.stop();
        let text = format!(
            "{children} children in {}, {:.1} a second; {failed} could not be started\n",
            duration(elapsed_ns),
            children as f64 / (elapsed_ns as f64 / 1e9),
        );
        self.until.done(
            "spawn",
            &signals,
            elapsed_ns,
            json!({ "children": children, "failed": failed }),
            text,
        )?;
        match (children, failed) {
            (0, 1..) => Err(Failure::failed("/bin/true cannot be started")),
            _ => Ok(()),
        }
    }
}

/// Nothing to choose.
#[derive(Debug, Args)]
pub struct Pingpong {
    #[command(flatten)]
    until: Until,
}

impl Pingpong {
    /// Passes the byte.
    ///
    /// # Errors
    /// When pipes or threads cannot be had.
    pub fn run(&self) -> Result<(), Failure> {
        let signals = Signals::new()?;
        let pingpong = pingpong::PingPong::start().map_err(Failure::failed)?;
        tell("pingpong", &self.until);
        let rounds = || json!({ "rounds": pingpong.rounds() });
        let elapsed_ns = self.until.wait("pingpong", &signals, rounds)?;
        let rounds = pingpong.rounds();
        let text = format!(
            "{rounds} rounds in {}: {} each\n",
            duration(elapsed_ns),
            duration(elapsed_ns / rounds.max(1)),
        );
        self.until.done("pingpong", &signals, elapsed_ns, json!({ "rounds": rounds }), text)
    }
}
