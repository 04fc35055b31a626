//! A load under `exactop run`, held before its start and after its end, so that all witnesses cover
//! the same time.

use super::witness::{WitnessReading, Witnesses};
use anyhow::{bail, Context, Result};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Figures of one run, ns of CPU time each.
#[derive(Clone, Copy, Debug)]
pub struct RunFigures {
    /// perf's task-clock of the control group.
    pub task_clock: u64,
    /// perf's task-clock as `perf stat` has it.
    pub inherited: u64,
    /// The ledger's time: executing, and stolen meanwhile, which task-clock includes; without the
    /// shell's use before it was held.
    pub ledger: u64,
    /// The stolen part of it.
    pub steal: u64,
    /// Unnamed time of the ledger, on the whole machine.
    pub unnamed: u64,
    /// The control group's usage.
    pub group: u64,
    /// Time by /proc.
    pub proc: u64,
    /// Number of times that a task of the tree came onto a CPU.
    pub dispatches: u64,
    /// Number of processes of the tree that exited.
    pub exits: u64,
}

/// Prints its PID, waits, runs the load, reports its end, waits again.
const HOLD: &str = "echo $$; read -r _ || exit; { eval \"$1\"; } </dev/null >/dev/null 2>&1; \
                    echo ended with $?; read -r _";

/// Runs a script of sh(1) once.
pub fn run(exactop: &Path, script: &str) -> Result<RunFigures> {
    let json = tempfile::NamedTempFile::new().context("making a file")?;
    let mut held = HeldExactop::start(exactop, json.path(), script)?;
    let pid = held.line()?.parse().context("the shell's PID")?;
    // Dropped last: a control group cannot be removed before its processes end.
    let mut witnesses = Witnesses::attach(pid)?;
    let earlier = witnesses.earlier();
    let told = stretch(&mut held, &mut witnesses);
    held.finish()?;
    let (before, after) = told?;
    let earlier = earlier?;
    let report = std::fs::read(json.path()).context("reading exactop's report")?;
    said(&serde_json::from_slice(&report).context("exactop's report")?, before, after, earlier)
}

/// Lets the load run, and waits until it has ended. Returns the figures before and after.
fn stretch(
    held: &mut HeldExactop,
    witnesses: &mut Witnesses,
) -> Result<(WitnessReading, WitnessReading)> {
    let before = witnesses.read()?;
    held.go_on()?;
    let ended = held.line()?;
    let after = witnesses.read()?;
    match ended.as_str() {
        "ended with 0" => Ok((before, after)),
        other => bail!("the load {other}"),
    }
}

struct HeldExactop {
    exactop: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl HeldExactop {
    fn start(exactop: &Path, json: &Path, script: &str) -> Result<HeldExactop> {
        let mut command = Command::new(exactop);
        command
            .args(["run", "-q", "--json"])
            .arg(json)
            .args(["--", "sh", "-c", HOLD, "sh", script]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut exactop = command.spawn().context("starting exactop")?;
        let input = exactop.stdin.take().context("no pipe to it")?;
        let output = BufReader::new(exactop.stdout.take().context("no pipe from it")?);
        Ok(HeldExactop { exactop, input, output })
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

fn said(
    report: &Value,
    before: WitnessReading,
    after: WitnessReading,
    earlier: u64,
) -> Result<RunFigures> {
    let tree = &report["tree"];
    let number = |value: &Value, name: &str| {
        value.as_u64().with_context(|| format!("no {name} in exactop's report: {report}"))
    };
    let counter = |name: &str| number(&tree["counters"][name], name);
    let steal = counter("steal_ns")?;
    let exited = tree["exited"].as_array().context("no exited in exactop's report")?;
    let exits = exited.iter().map(|group| number(&group["processes"], "processes"));
    Ok(RunFigures {
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
