//! A load under `exactop run`, held before it begins and after it has ended, so that all who watch
//! it see the same stretch.

use super::witness::{Told, Witnesses};
use anyhow::{bail, Context, Result};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// What is told of one run, ns of CPU time each.
#[derive(Clone, Copy, Debug)]
pub struct Said {
    /// perf's task-clock of the control group.
    pub task_clock: u64,
    /// perf's task-clock as `perf stat` has it.
    pub inherited: u64,
    /// The ledger: executing, and stolen meanwhile, which task-clock does not tell apart; less what
    /// the shell used before it was held.
    pub ledger: u64,
    /// Of that what the hypervisor took.
    pub steal: u64,
    /// What the ledger could name nobody for, on the whole machine.
    pub unnamed: u64,
    /// The control group's usage.
    pub group: u64,
    /// /proc.
    pub proc: u64,
    /// How often one of the tree was put on a CPU.
    pub dispatches: u64,
    /// How many processes of the tree ended.
    pub exits: u64,
}

/// Says its PID, waits, does it, says so, waits again.
const HOLD: &str = "echo $$; read -r _ || exit; { eval \"$1\"; } </dev/null >/dev/null 2>&1; \
                    echo ended with $?; read -r _";

/// Runs a script of sh(1) once.
pub fn run(exactop: &Path, script: &str) -> Result<Said> {
    let json = tempfile::NamedTempFile::new().context("making a file")?;
    let mut held = Held::start(exactop, json.path(), script)?;
    let pid = held.line()?.parse().context("the shell's PID")?;
    // Dropped last: a control group cannot go before its processes.
    let mut witnesses = Witnesses::of(pid)?;
    let earlier = witnesses.earlier();
    let told = stretch(&mut held, &mut witnesses);
    held.finish()?;
    let (before, after) = told?;
    let earlier = earlier?;
    let report = std::fs::read(json.path()).context("reading exactop's report")?;
    said(&serde_json::from_slice(&report).context("exactop's report")?, before, after, earlier)
}

/// Lets it go, and waits until it has ended; what was told before and after.
fn stretch(held: &mut Held, witnesses: &mut Witnesses) -> Result<(Told, Told)> {
    let before = witnesses.told()?;
    held.go_on()?;
    let ended = held.line()?;
    let after = witnesses.told()?;
    match ended.as_str() {
        "ended with 0" => Ok((before, after)),
        other => bail!("the load {other}"),
    }
}

struct Held {
    exactop: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Held {
    fn start(exactop: &Path, json: &Path, script: &str) -> Result<Held> {
        let mut command = Command::new(exactop);
        command
            .args(["run", "-q", "--json"])
            .arg(json)
            .args(["--", "sh", "-c", HOLD, "sh", script]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut exactop = command.spawn().context("starting exactop")?;
        let input = exactop.stdin.take().context("no pipe to it")?;
        let output = BufReader::new(exactop.stdout.take().context("no pipe from it")?);
        Ok(Held { exactop, input, output })
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line).context("reading from the shell")?;
        match line.trim_end() {
            "" => bail!("it ended before its time"),
            line => Ok(line.to_string()),
        }
    }

    fn go_on(&mut self) -> Result<()> {
        self.input.write_all(b"\n").context("writing to the shell")
    }

    fn finish(mut self) -> Result<()> {
        let _ = self.go_on();
        drop(self.input);
        match self.exactop.wait().context("waiting for exactop")? {
            status if status.success() => Ok(()),
            status => bail!("exactop failed: {status}"),
        }
    }
}

fn said(report: &Value, before: Told, after: Told, earlier: u64) -> Result<Said> {
    let tree = &report["tree"];
    let number = |value: &Value, name: &str| {
        value.as_u64().with_context(|| format!("no {name} in exactop's report: {report}"))
    };
    let counter = |name: &str| number(&tree["counters"][name], name);
    let steal = counter("steal_ns")?;
    let exited = tree["exited"].as_array().context("no exited in exactop's report")?;
    let exits = exited.iter().map(|group| number(&group["processes"], "processes"));
    Ok(Said {
        task_clock: after.task_clock - before.task_clock,
        inherited: after.inherited - before.inherited,
        ledger: (counter("run_ns")? + steal).saturating_sub(earlier),
        steal,
        unnamed: number(&tree["unnamed_ns"], "unnamed_ns")?,
        group: after.group - before.group,
        proc: after.proc - before.proc,
        dispatches: counter("dispatches")?,
        exits: exits.sum::<Result<u64>>()?,
    })
}
