//! Processes that each do the same number of equal steps and note the time of each: how a scheduler
//! shares a CPU, seen from inside.

use crate::children::{fork, too_few};
use crate::error::Refusal;
use crate::work::nanoseconds;
use rustix::process::{waitpid, Pid, WaitOptions};
use rustix::time::ClockId;
use std::hint::black_box;
use std::io::{self, PipeReader, Read, Write};

/// Default CPU time of a step, ns.
const STEP_NS: u64 = 500_000;

/// Options of the processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Number of processes.
    pub procs: usize,
    /// Nicenesses of the first processes; the others keep that of the calling process.
    pub nice: Vec<i32>,
    /// Steps of each process.
    pub steps: usize,
    /// Loops in a step.
    pub loops: u64,
}

/// A finished step; `step` 0 is the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Number of the process, from 0.
    pub id: usize,
    /// Its PID.
    pub pid: u32,
    /// Steps done so far.
    pub step: usize,
    /// Time since the barrier opened, CLOCK_MONOTONIC ns.
    pub elapsed_ns: u64,
}

/// Number of loops that take about half a millisecond of CPU time now.
pub fn loops_of_a_step() -> u64 {
    let mut loops = 10_000;
    loop {
        let before = nanoseconds(ClockId::ThreadCPUTime);
        spin(loops);
        let took = nanoseconds(ClockId::ThreadCPUTime) - before;
        if took > STEP_NS / 10 {
            return (loops as f64 * STEP_NS as f64 / took as f64) as u64;
        }
        loops *= 2;
    }
}

fn spin(loops: u64) {
    for i in 0..loops {
        black_box(i);
    }
}

/// Runs the processes to their ends; returns all steps, by process. The calling process must have
/// one thread.
///
/// # Errors
/// The processes cannot be started.
pub fn run(options: &Options) -> Result<Vec<Vec<Step>>, Refusal> {
    let (mut gate, mut open) = io::pipe().map_err(Refusal::other)?;
    let mut running = Vec::with_capacity(options.procs);
    for id in 0..options.procs {
        let failed = |error: &io::Error| too_few(id, options.procs, error);
        let (told, mut tell) = io::pipe().map_err(|e| failed(&e))?;
        let pid = fork(|| {
            let mut start = [0; 8];
            // Set the niceness before the barrier, so that it holds from the first step on. If it
            // fails, this process ends.
            let nice = options.nice.get(id).map_or(Ok(()), |&nice| set_nice(nice));
            if nice.is_ok() && gate.read_exact(&mut start).is_ok() {
                let times = steps(options, u64::from_ne_bytes(start));
                // The reader exists until the end.
                let _ = tell.write_all(&times);
            }
        });
        running.push((pid.map_err(|e| failed(&e))?, told));
    }
    let start = nanoseconds(ClockId::Monotonic).to_ne_bytes();
    // A single write starts them all at once: a pipe accepts 4096 bytes atomically (pipe(7)).
    open.write_all(&start.repeat(options.procs)).map_err(Refusal::other)?;
    let all = running.into_iter().enumerate().map(|(id, (pid, told))| told_by(id, pid, told));
    all.collect::<io::Result<_>>().map_err(Refusal::other)
}

/// Sets the niceness of the calling process.
fn set_nice(nice: i32) -> io::Result<()> {
    Ok(rustix::process::setpriority_process(None, nice)?)
}

/// Does the steps of one process; keeps their times in memory, because writing would disturb.
fn steps(options: &Options, start_ns: u64) -> Vec<u8> {
    let now = || nanoseconds(ClockId::Monotonic).saturating_sub(start_ns);
    let mut times = Vec::with_capacity(8 * (options.steps + 1));
    times.extend(now().to_ne_bytes());
    for _ in 0..options.steps {
        spin(options.loops);
        times.extend(now().to_ne_bytes());
    }
    times
}

fn told_by(id: usize, pid: u32, mut told: PipeReader) -> io::Result<Vec<Step>> {
    let mut bytes = Vec::new();
    told.read_to_end(&mut bytes)?;
    if let Some(pid) = Pid::from_raw(pid as i32) {
        let _ = waitpid(Some(pid), WaitOptions::empty());
    }
    let time = |chunk: &[u8]| chunk.try_into().map_or(0, u64::from_ne_bytes);
    let steps = bytes.chunks_exact(8).enumerate();
    Ok(steps.map(|(step, chunk)| Step { id, pid, step, elapsed_ns: time(chunk) }).collect())
}

/// Time until the last process was done, ns.
pub fn elapsed_ns(all: &[Vec<Step>]) -> u64 {
    all.iter().filter_map(|steps| steps.last()).map(|s| s.elapsed_ns).max().unwrap_or(0)
}
