//! Context switches at the highest rate: two tasks on one CPU that pass a byte back and forth.

use super::running::{Running, Surface};
use super::{cpu_time, peers};
use anyhow::{Context, Result};
use exactop_workloads::workloads::PipePingPong;
use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// Rounds of a byte, for perf.
const OPERATIONS: u64 = 200_000;
/// Time in which exactop-workload-worker's pipes are measured if perf is missing.
const WATCH: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Wall-clock time of a round, ns: two switches and two wakeups.
    pub wall_ns: f64,
    /// CPU time of a round, ns; it excludes other tasks.
    pub cpu_ns: f64,
    pub rounds: u64,
}

/// The two tasks, on one CPU.
pub struct Pipe {
    perf: Option<PathBuf>,
    cpu: usize,
}

impl Pipe {
    /// Uses the last allowed CPU, because most interrupts go to the first.
    ///
    /// # Errors
    /// The kernel does not report the allowed CPUs.
    pub fn new() -> Result<Pipe> {
        let allowed = sched_getaffinity(None).context("which CPUs there are")?;
        let cpu = (0..CpuSet::MAX_CPU).rev().find(|&cpu| allowed.is_set(cpu));
        let perf = peers::find("perf").filter(|_| peers::find("taskset").is_some());
        Ok(Pipe { perf, cpu: cpu.unwrap_or(0) })
    }

    pub fn command(&self) -> String {
        match &self.perf {
            Some(_) => format!("taskset -c {} perf bench sched pipe -l {OPERATIONS}", self.cpu),
            None => format!("exactop-workload-worker pipe-pingpong 2, on CPU {}", self.cpu),
        }
    }

    pub fn run(&self) -> Result<Pace> {
        match &self.perf {
            Some(_) => self.run_perf(),
            None => self.run_lab(),
        }
    }

    fn run_perf(&self) -> Result<Pace> {
        let (cpu, rounds) = (self.cpu.to_string(), OPERATIONS.to_string());
        let mut command = Command::new("taskset");
        command.args(["-c", &cpu, "perf", "bench", "sched", "pipe", "-l", &rounds]);
        let before = cpu_time::of_children();
        let text = Running::start(&mut command, Surface::Pipe)?.finish(Duration::from_secs(60))?;
        let cpu_ns = cpu_time::of_children() - before;
        let line = text.lines().find_map(|line| line.trim().strip_suffix("usecs/op"));
        let micros = line.and_then(|number| number.trim().parse::<f64>().ok());
        let wall_ns = micros.with_context(|| format!("no usecs/op in: {text}"))? * 1e3;
        Ok(Pace { wall_ns, cpu_ns: cpu_ns as f64 / OPERATIONS as f64, rounds: OPERATIONS })
    }

    fn run_lab(&self) -> Result<Pace> {
        let allowed = sched_getaffinity(None)?;
        let mut only = CpuSet::new();
        only.set(self.cpu);
        sched_setaffinity(None, &only)?;
        // Processes started from now on inherit the affinity.
        let pipe = PipePingPong::start(2);
        sched_setaffinity(None, &allowed)?;
        let pipe = pipe?;
        let (began, rounds, cpu) =
            (Instant::now(), pipe.rounds()?, cpu_time::of_process(pipe.pid())?);
        std::thread::sleep(WATCH);
        let (cpu, rounds) = (cpu_time::of_process(pipe.pid())? - cpu, pipe.rounds()? - rounds);
        let each = |ns: f64| ns / rounds.max(1) as f64;
        let wall_ns = began.elapsed().as_nanos() as f64;
        Ok(Pace { wall_ns: each(wall_ns), cpu_ns: each(cpu as f64), rounds })
    }
}
