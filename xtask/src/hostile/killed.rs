//! Ends exactop at random moments: while it loads, attaches, measures, detaches.

use super::{command, objects, Line};
use anyhow::{Context, Result};
use rustix::process::{kill_process, Pid, Signal};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Commands to end, in turns.
const COMMANDS: &[&[&str]] = &[
    &["-b", "-d", "0.05", "--source", "ledger", "--split", "exact"],
    &["--json", "-d", "0.05", "--source", "snapshot"],
    &["--csv", "-d", "0.05", "--source", "taskstats"],
    &["syscalls", "0.05"],
    &["wakeups", "0.05"],
    &["waits", "0.05"],
    &["prstat", "-mL", "1"],
    &["trace", "-d", "60", "-o", "/dev/null"],
    &["run", "-q", "--", "sleep", "60"],
];

/// The latest moment: by then it has printed windows.
const LATEST_MS: u64 = 1_500;

/// Longest time for a signal on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// SIGKILL; afterwards none of its objects may be left in the kernel.
pub fn by_kill(exactop: &Path, times: u32) -> Result<Line> {
    let mut line = Line::new("SIGKILL at a random moment: no program, map or link left");
    for turn in 0..times {
        let before = objects::all();
        let mut child = start(exactop, turn)?;
        child.kill().context("cannot kill")?;
        child.wait()?;
        line.count(objects::none_left(&before));
    }
    Ok(line)
}

/// Signals that ask it to end.
pub fn by_signals(exactop: &Path, times: u32) -> Result<Line> {
    let mut line = Line::new("SIGTERM, SIGINT, SIGHUP at a random moment: ends, nothing left");
    for turn in 0..times {
        let signal = [Signal::TERM, Signal::INT, Signal::HUP][turn as usize / 3 % 3];
        let before = objects::all();
        let mut child = start(exactop, turn)?;
        let pid = Pid::from_raw(child.id() as i32).context("a PID")?;
        kill_process(pid, signal)?;
        let ended = wait(&mut child)?;
        line.count(ended.and_then(|status| {
            by(status, signal)?;
            objects::none_left(&before)
        }));
    }
    Ok(line)
}

fn start(exactop: &Path, turn: u32) -> Result<Child> {
    let words = COMMANDS[turn as usize % COMMANDS.len()];
    let mut command = command(exactop, words);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let child = child.with_context(|| format!("cannot start {}", exactop.display()))?;
    std::thread::sleep(Duration::from_millis(rand::random_range(0..LATEST_MS)));
    Ok(child)
}

fn wait(child: &mut Child) -> Result<Result<ExitStatus, String>> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ok(status));
        }
        if begin.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Ok(Err("goes on".into()));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The exit by the signal itself, if it came before any set-up, or its equivalent: prstat ends with
/// 0, and so does an interrupted recording.
fn by(status: ExitStatus, signal: Signal) -> Result<(), String> {
    let number = signal.as_raw();
    match (status.signal(), status.code()) {
        (Some(by), _) if by == number => Ok(()),
        (_, Some(code)) if code == 128 + number || code == 0 => Ok(()),
        _ => Err(format!("{signal:?} ended it with {status}")),
    }
}
