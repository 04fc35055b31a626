//! `cargo xtask hostile`: behaviour on a hostile machine, counted, as the table of
//! docs/explanation/security.md.

mod killed;
mod limits;
mod many;
mod names;
mod objects;
mod output;
mod storms;
mod watched;

use anyhow::{bail, Context, Result};
use clap::ValueEnum;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The attacks, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Attack {
    /// Send SIGKILL at random moments
    Killed,
    /// Send SIGTERM, SIGINT and SIGHUP at random moments
    Signals,
    /// Run many instances at once
    Many,
    /// Use process names with control characters
    Names,
    /// Set limits on descriptors, memory and stacks
    Limits,
    /// Run storms of forks, threads, signals and names
    Storms,
}

/// Treat exactop as a hostile machine would, and print the table for docs/explanation/security.md (as root)
#[derive(clap::Args)]
pub struct Args {
    /// Attack this program
    #[arg(long, value_name = "FILE")]
    exactop: Option<PathBuf>,
    /// Use this number of random moments
    #[arg(long, default_value_t = 100)]
    times: u32,
    /// Run this number of instances at once
    #[arg(long, default_value_t = 20)]
    instances: usize,
    /// Run only this attack; may be given several times
    #[arg(long, value_enum, value_name = "NAME")]
    only: Vec<Attack>,
}

/// One line of the table.
struct Line {
    what: String,
    tried: u64,
    held: u64,
    /// Failures, and figures worth knowing.
    notes: Vec<String>,
}

impl Line {
    fn new(what: impl Into<String>) -> Line {
        Line { what: what.into(), tried: 0, held: 0, notes: Vec::new() }
    }

    fn count(&mut self, result: Result<(), String>) {
        self.tried += 1;
        match result {
            Ok(()) => self.held += 1,
            Err(why) => {
                eprintln!("hostile: {}: {why}", self.what);
                if self.notes.len() < 5 {
                    self.notes.push(why);
                }
            }
        }
    }

    fn row(&self) -> String {
        let notes = self.notes.join("; ").replace('|', "\\|");
        format!("| {} | {} | {} | {notes} |", self.what, self.tried, self.held)
    }
}

pub fn run(args: &Args) -> Result<ExitCode> {
    if !rustix::process::geteuid().is_root() {
        bail!("this needs root: the ledger does, and so do its limits");
    }
    let exactop = program(args)?;
    workers()?;
    println!("{}\n", machine());
    println!("| done | tried | held | |\n|---|---|---|---|");
    let mut failed = 0;
    for what in Attack::value_variants()
        .iter()
        .filter(|what| args.only.is_empty() || args.only.contains(what))
    {
        let lines = match what {
            Attack::Killed => vec![killed::by_kill(&exactop, args.times)?],
            Attack::Signals => vec![killed::by_signals(&exactop, args.times)?],
            Attack::Many => vec![many::at_once(&exactop, args.instances)?],
            Attack::Names => names::all(&exactop)?,
            Attack::Limits => limits::all(&exactop)?,
            Attack::Storms => storms::all(&exactop)?,
        };
        for line in lines {
            println!("{}", line.row());
            failed += line.tried - line.held;
        }
    }
    println!("\n{failed} did not hold");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn program(args: &Args) -> Result<PathBuf> {
    let path = match &args.exactop {
        Some(path) => path.clone(),
        None => crate::target_dir().join("release/exactop"),
    };
    path.canonicalize().with_context(|| format!("no {}: make build", path.display()))
}

/// Builds the program that makes the storms.
fn workers() -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo).args(["build", "--quiet", "-p", "exactop-workloads"]).status();
    if !built.context("cannot start cargo")?.success() {
        bail!("exactop-workloads does not build");
    }
    let variable = exactop_workloads::worker::WORKER_VARIABLE;
    let program = crate::target_dir().join("debug/exactop-workload-worker");
    std::env::set_var(variable, program);
    Ok(())
}

fn machine() -> String {
    let name = rustix::system::uname();
    let now = Command::new("date").arg("+%Y-%m-%d").output();
    let date = now.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_string());
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = name.release().to_string_lossy();
    format!("{}, Linux {kernel}, {cpus} CPUs", date.unwrap_or_else(|_| "some day".into()))
}

fn command(exactop: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(exactop);
    command.args(words).env("XDG_CONFIG_HOME", "/dev/null").stdin(std::process::Stdio::null());
    command
}
