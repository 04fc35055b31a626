//! What each group of programs costs a storm of system calls and one of context switches, beside
//! the tools that people use for the same questions.

use super::bpf_stats::{self, Measured};
use super::peers;
use super::report::{Check, Section};
use super::running::{Running, Surface};
use super::spread::Spread;
use super::table::Table;
use super::Bench;
use anyhow::{Context, Result};
use rustix::thread::{sched_getaffinity, CpuSet};
use serde_json::{json, Value};
use std::process::Command;
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;
const CALLS: &str = "1000000";
const SWITCHES: &str = "100000";
/// strace stops the program twice for every call.
const PATIENCE: Duration = Duration::from_secs(120);

/// What makes the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Storm {
    Calls,
    Switches,
}

const STORMS: [Storm; 2] = [Storm::Calls, Storm::Switches];

impl Storm {
    fn words(self) -> Vec<String> {
        let bench: [&str; 4] = match self {
            Storm::Calls => ["syscall", "basic", "-l", CALLS],
            Storm::Switches => ["sched", "pipe", "-l", SWITCHES],
        };
        let cpu = last_cpu().to_string();
        let front = ["taskset", "-c", &cpu, "perf", "bench"];
        front.into_iter().chain(bench).map(String::from).collect()
    }

    /// Runs it behind `front`; ns by the clock for one call, or for two switches.
    fn run(self, front: &[&str]) -> Result<f64> {
        let front = front.iter().map(ToString::to_string);
        let words: Vec<String> = front.chain(self.words()).collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        let text = Running::start(&mut command, Surface::Pipe)?.finish(PATIENCE)?;
        let line = text.lines().find_map(|line| line.trim().strip_suffix("usecs/op"));
        let micros = line.and_then(|number| number.trim().parse::<f64>().ok());
        Ok(micros.with_context(|| format!("no usecs/op in: {text}"))? * 1e3)
    }
}

/// Most interrupts go to the first.
fn last_cpu() -> usize {
    let allowed = sched_getaffinity(None).ok();
    let is_set = |cpu: &usize| allowed.is_some_and(|allowed| allowed.is_set(*cpu));
    (0..CpuSet::MAX_CPU).rev().find(is_set).unwrap_or(0)
}

/// A tool that looks meanwhile, or runs the storm itself.
struct Tool {
    name: &'static str,
    /// Arguments of an exactop that runs beside it.
    ours: &'static [&'static str],
    /// The command that runs it.
    front: &'static [&'static str],
}

const TOOLS: [Tool; 11] = [
    Tool { name: "nothing", ours: &[], front: &[] },
    Tool {
        name: "ledger alone",
        ours: &["-b", "-d", "1000", "--split", "sampled", "--irq", "off"],
        front: &[],
    },
    Tool {
        name: "ledger, exact split",
        ours: &["-b", "-d", "1000", "--split", "exact", "--irq", "off"],
        front: &[],
    },
    Tool {
        name: "ledger, interrupts",
        ours: &["-b", "-d", "1000", "--split", "sampled", "--irq", "on"],
        front: &[],
    },
    Tool { name: "exactop syscalls", ours: &["syscalls", "1000"], front: &[] },
    Tool {
        name: "exactop syscalls --by thread",
        ours: &["syscalls", "--by", "thread", "1000"],
        front: &[],
    },
    Tool { name: "exactop wakeups", ours: &["wakeups", "1000"], front: &[] },
    Tool { name: "exactop waits", ours: &["waits", "1000"], front: &[] },
    Tool {
        name: "perf trace -s",
        ours: &[],
        front: &["perf", "trace", "-s", "-o", "/dev/null", "--"],
    },
    Tool {
        name: "strace -c -f",
        ours: &[],
        front: &["strace", "-c", "-f", "-o", "/dev/null", "--"],
    },
    Tool {
        name: "perf sched record",
        ours: &[],
        front: &["perf", "sched", "record", "-o", "/dev/null", "--"],
    },
];

impl Tool {
    fn start(&self, bench: &Bench) -> Result<Option<Running>> {
        if self.ours.is_empty() {
            return Ok(None);
        }
        let mut command = Command::new(&bench.exactop);
        command.args(self.ours).env("HOME", "/nonexistent");
        let running = Running::start(&mut command, Surface::Pipe)?;
        let deadline = Instant::now() + Duration::from_secs(10);
        while bpf_stats::of_process(running.pid()).is_none() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
        }
        // Attached, and everyone who lives is known.
        std::thread::sleep(Duration::from_millis(500));
        Ok(Some(running))
    }

    fn is_there(&self) -> bool {
        self.front.first().is_none_or(|program| peers::find(program).is_some())
    }
}

/// What came of one tool.
#[derive(Default)]
struct Figures {
    wall_ns: [Spread; STORMS.len()],
    ns_each: [Spread; STORMS.len()],
}

/// All in turns, beginning with another one each time.
pub fn measure(bench: &Bench) -> Result<Section> {
    let mut figures: Vec<Figures> = TOOLS.iter().map(|_| Figures::default()).collect();
    for round in 0..bench.rounds(ROUNDS) {
        eprintln!("bench: groups, round {}", round + 1);
        for turn in 0..TOOLS.len() {
            let at = (round + turn) % TOOLS.len();
            let tool = &TOOLS[at];
            if !tool.is_there() {
                continue;
            }
            let running = tool.start(bench)?;
            for (i, storm) in STORMS.into_iter().enumerate() {
                figures[at].wall_ns[i].add(storm.run(tool.front)?);
                if let Some(running) = &running {
                    if let Some(ns) = with_statistics(running, storm)? {
                        figures[at].ns_each[i].add(ns);
                    }
                }
            }
        }
    }
    Ok(section(&figures))
}

/// ns an event by the kernel's run-time statistics, in a run of its own.
fn with_statistics(running: &Running, storm: Storm) -> Result<Option<f64>> {
    let Some(before) = bpf_stats::of_process(running.pid()) else { return Ok(None) };
    let statistics = Measured::on()?;
    storm.run(&[])?;
    drop(statistics);
    let after = bpf_stats::of_process(running.pid());
    Ok(after.and_then(|after| after.since(before).ns_each()))
}

fn section(figures: &[Figures]) -> Section {
    let tables = STORMS.into_iter().enumerate().map(|(i, storm)| {
        let what = match storm {
            Storm::Calls => "a million getppid()",
            Storm::Switches => "a byte over a pipe and back",
        };
        let mut table = Table::new([what, "ns each", "times as slow", "ns each event"]);
        for (tool, of) in TOOLS.iter().zip(figures) {
            let slower = match of.wall_ns[i].median() {
                Some(_) => of.wall_ns[i].over(&figures[0].wall_ns[i]).text(2),
                None => "missing".into(),
            };
            let each = if tool.ours.is_empty() { String::new() } else { of.ns_each[i].text(0) };
            table.row([tool.name.to_string(), of.wall_ns[i].text(0), slower, each]);
        }
        table
    });
    Section {
        name: "groups",
        title: "What each group costs".into(),
        how: "Two storms on one CPU, by the clock: system calls that do nothing else, and two tasks \
              that pass a byte to and fro (two switches, two wake-ups, four system calls). In turns \
              with nothing, with the ledger and each of its optional groups, with the commands that \
              attach programs of their own, and under the tools that answer the same questions \
              otherwise. None of exactop's windows ends meanwhile. The time of an event is from the \
              kernel's run-time statistics, in runs of their own, their own cost of some 20 ns \
              included; it is the mean over all programs of the command."
            .into(),
        commands: commands(),
        tables: tables.collect(),
        pictures: Vec::new(),
        checks: vec![check(figures)],
        json: json_of(figures),
    }
}

fn check(figures: &[Figures]) -> Check {
    let exact = TOOLS.iter().zip(figures).find(|(tool, _)| tool.name == "ledger, exact split");
    let slower = exact
        .map_or_else(Spread::default, |(_, exact)| exact.wall_ns[0].over(&figures[0].wall_ns[0]));
    Check {
        target: "a million getppid with the exact split takes at most 2.5 times as long".into(),
        found: slower.text(2),
        met: slower.median().map(|times| times <= 2.5),
    }
}

fn commands() -> Vec<String> {
    let storms = STORMS.iter().map(|storm| storm.words().join(" "));
    let tools = TOOLS.iter().filter_map(|tool| match (tool.ours, tool.front) {
        ([], []) => None,
        ([], front) => Some(front.join(" ") + " ..."),
        (ours, _) => Some(format!("exactop {}", ours.join(" "))),
    });
    storms.chain(tools).collect()
}

fn json_of(figures: &[Figures]) -> Value {
    let storm = |of: &Figures, i: usize| json!({ "wall_ns": of.wall_ns[i].json(), "ns_each_event": of.ns_each[i].json() });
    TOOLS
        .iter()
        .zip(figures)
        .map(|(tool, of)| {
            let both = json!({ "getppid": storm(of, 0), "pipe": storm(of, 1) });
            (tool.name.to_string(), both)
        })
        .collect()
}
