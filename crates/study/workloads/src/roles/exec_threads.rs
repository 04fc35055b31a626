//! Processes that exec themselves from a thread that is not their leader.
//!
//! The kernel makes such a thread the leader: it gets the process's number, and its own number
//! disappears without an exit. Other threads of the process end at any point of that.

use super::{desk, number};
use crate::children;
use crate::counters::Counters;
use crate::error::Refusal;
use rustix::process::Pid;
use std::convert::Infallible;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

/// The role of these processes; it needs no supervisor of its own.
pub(super) const AGAIN: &str = "exec-threads-again";

/// Threads that end at once, before or during the exec.
const BYSTANDERS: usize = 3;

pub(super) fn run(args: &[String]) -> Result<Infallible, Refusal> {
    let processes = number(args, 0)?;
    let (counters, descriptor) = Counters::new().map_err(Refusal::other)?;
    let program = std::env::current_exe().map_err(Refusal::other)?;
    let me = std::process::id().to_string();
    let args = [AGAIN, &me, &descriptor.to_string()];
    let pids = children::make(processes, || children::run(Command::new(&program).args(args)))?;
    desk::serve(pids, |request| (request == "execs").then(|| vec![counters.at(0).load(Relaxed)]))
}

/// One life of such a process; it ends with the exec that begins the next.
pub(super) fn again(args: &[String]) -> ExitCode {
    let number = |at| super::number(args, at).ok().and_then(|number| i32::try_from(number).ok());
    let (Some(parent), Some(descriptor)) = (number(0).and_then(Pid::from_raw), number(1)) else {
        return ExitCode::from(2);
    };
    let Ok(counters) = Counters::inherited(descriptor) else { return ExitCode::FAILURE };
    // A new thread has no death signal, so the leader that it becomes has none: set it in each
    // life.
    if children::die_with(parent).is_err() {
        return ExitCode::FAILURE;
    }
    counters.at(0).fetch_add(1, Relaxed);
    children::set_name("lab-exec-thread");
    let bystanders: Vec<_> = (0..BYSTANDERS).map(|_| thread::Builder::new().spawn(|| {})).collect();
    let args = args.to_vec();
    let runner = thread::Builder::new().spawn(move || exec(&args));
    drop(bystanders);
    // Returns only if no thread could be created or the exec failed. Then the process ends.
    let _ = runner.map(thread::JoinHandle::join);
    ExitCode::FAILURE
}

fn exec(args: &[String]) {
    let Ok(program) = std::env::current_exe() else { return };
    // Returns only on failure, which ends this thread and with it the process.
    let _ = Command::new(program).arg(AGAIN).args(args).exec();
}
