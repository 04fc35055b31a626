//! Cost of watching a working machine: beside a load that empties the caches, as on a busy machine,
//! and beside processes that start and exit.

use super::cost::{look_at, Look};
use super::report::{Check, Section};
use super::running::Surface;
use super::spread::Spread;
use super::table::{thousands, Table};
use super::{bpf_stats::Measured, machine, Bench};
use anyhow::Result;
use exactop_workloads::workloads::{AutoReaped, Sleepers};
use serde_json::{json, Value};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const SLEEPERS: usize = 1_000;
const ROUNDS: usize = 3;
/// Memory that each CPU writes over and over: twice the largest cache of known machines.
const SWEPT: usize = 64 << 20;
const LINE: usize = 64;
/// Births per second in the target.
const BIRTHS: f64 = 8_000.0;

/// Name, program, arguments and surface of a tool.
type Tool = (&'static str, &'static str, &'static [&'static str], Surface);

/// The blame book may raise the live view's cost to this, in parts of it without.
const BLAME_RATIO: f64 = 1.05;

const LOOKERS: [Tool; 5] = [
    ("exactop", "exactop", &["-d", "2", "--source", "ledger"], Surface::Terminal),
    ("top", "top", &["-d", "2"], Surface::Terminal),
    ("exactop, 200x50", "exactop", &["-d", "2", "--source", "ledger"], Surface::LargeTerminal),
    ("top, 200x50", "top", &["-d", "2"], Surface::LargeTerminal),
    (
        "exactop --blame off",
        "exactop",
        &["-d", "2", "--source", "ledger", "--blame", "off"],
        Surface::Terminal,
    ),
];

const BIRTH_LOOKERS: [Tool; 4] = [
    ("exactop -b -i", "exactop", &["-bi", "-d", "2", "--source", "ledger"], Surface::Pipe),
    (
        "exactop -b -i --blame off",
        "exactop",
        &["-bi", "-d", "2", "--source", "ledger", "--blame", "off"],
        Surface::Pipe,
    ),
    ("exactop", "exactop", &["-d", "2", "--source", "ledger"], Surface::Terminal),
    ("top -b", "top", &["-b", "-d", "2"], Surface::Pipe),
];

/// Measures both loads.
pub fn measure(bench: &Bench) -> Result<Section> {
    let _statistics = Measured::on()?;
    let swept = swept(bench)?;
    let born = births(bench)?;
    Ok(section(&swept, &born))
}

/// Cost of a tool per round, % of a CPU, and births per second beside it.
#[derive(Default)]
struct Costs {
    looks: Vec<Look>,
    births_per_s: Spread,
}

impl Costs {
    fn total(&self) -> Spread {
        self.looks.iter().map(Look::total_pct).collect()
    }

    fn user(&self) -> Spread {
        self.looks.iter().map(|look| look.cpu_pct).collect()
    }

    fn bpf(&self) -> Spread {
        self.looks.iter().filter_map(|look| look.bpf_pct).collect()
    }
}

fn swept(bench: &Bench) -> Result<Vec<Costs>> {
    let _sleepers = Sleepers::start(SLEEPERS)?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| sweep(&stop));
        }
        std::thread::sleep(Duration::from_secs(1));
        let all = rounds(bench, "caches emptied", &LOOKERS);
        stop.store(true, Ordering::Relaxed);
        Ok(all)
    })
}

/// Writes to memory that exceeds every cache, a line at a time, until stopped.
fn sweep(stop: &AtomicBool) {
    let mut memory = vec![0_u8; SWEPT];
    while !stop.load(Ordering::Relaxed) {
        for line in memory.chunks_exact_mut(LINE) {
            line[0] = line[0].wrapping_add(1);
        }
        black_box(&memory);
    }
}

fn births(bench: &Bench) -> Result<Vec<Costs>> {
    let _storm = AutoReaped::start(64, Duration::ZERO)?;
    std::thread::sleep(Duration::from_secs(1));
    Ok(rounds(bench, "births", &BIRTH_LOOKERS))
}

fn rounds(bench: &Bench, what: &str, tools: &[Tool]) -> Vec<Costs> {
    let mut all: Vec<Costs> = tools.iter().map(|_| Costs::default()).collect();
    for round in 0..bench.rounds(ROUNDS) {
        eprintln!("bench: {what}, round {}", round + 1);
        for ((name, program, arguments, surface), costs) in tools.iter().zip(&mut all) {
            let (began, before) = (Instant::now(), machine::births());
            match look_at(bench, program, arguments, *surface) {
                Ok(Some(look)) => {
                    costs.looks.push(look);
                    let born = machine::births().zip(before).map(|(now, then)| now - then);
                    let seconds = began.elapsed().as_secs_f64();
                    born.into_iter().for_each(|n| costs.births_per_s.add(n as f64 / seconds));
                }
                Ok(None) => {}
                Err(error) => eprintln!("bench: {name}: {error:#}"),
            }
        }
    }
    all
}

fn section(swept: &[Costs], born: &[Costs]) -> Section {
    let commands = LOOKERS.iter().chain(&BIRTH_LOOKERS);
    Section {
        name: "loaded",
        title: "Beside work".into(),
        how: format!(
            "**Emptied caches.** {} processes sleep, and a thread on each CPU writes over {} MiB without end.",
            thousands(SLEEPERS),
            SWEPT >> 20
        ),
        commands: commands
            .map(|(_, program, args, _)| format!("{program} {}", args.join(" ")))
            .collect(),
        tables: vec![table(&LOOKERS, swept, false), table(&BIRTH_LOOKERS, born, true).captioned(BIRTHS_HOW)],
        pictures: Vec::new(),
        checks: checks(swept, born),
        json: json!({ "swept": json_of(&LOOKERS, swept), "births": json_of(&BIRTH_LOOKERS, born) }),
    }
}

const BIRTHS_HOW: &str =
    "**Births.** Processes start and end without doing anything; half of them are orphans.";

fn table(tools: &[Tool], all: &[Costs], births: bool) -> Table {
    let shown = if births { 5 } else { 4 };
    let titles = ["tool", "all, %", "the process, %", "BPF, %", "births a second"];
    let mut table = Table::new(titles.into_iter().take(shown));
    for ((name, ..), costs) in tools.iter().zip(all) {
        let cells = [
            name.to_string(),
            costs.total().text(3),
            costs.user().text(3),
            if costs.bpf().median().is_some() { costs.bpf().text(3) } else { String::new() },
            costs.births_per_s.text(0),
        ];
        table.row(cells.into_iter().take(shown));
    }
    table
}

fn checks(swept: &[Costs], born: &[Costs]) -> Vec<Check> {
    let ratio = swept[1].total().over(&swept[0].total());
    let blame = swept[0].total().over(&swept[4].total());
    let rate = &born[0].births_per_s;
    let at_goal = born[0].total().over(&rate.map(|rate| rate / BIRTHS));
    vec![
        Check {
            target: format!(
                "{} processes, emptied caches: at most 1/12 of top",
                thousands(SLEEPERS)
            ),
            found: format!("1/{}", ratio.text(1)),
            met: ratio.median().map(|ratio| ratio >= 12.0),
        },
        Check {
            target: "blame book: at most 1.05 of the live view's cost without it".into(),
            found: blame.text(2),
            met: blame.median().map(|ratio| ratio <= BLAME_RATIO),
        },
        Check {
            target: format!(
                "{} births a second, `-b -i`: at most 1.5 %",
                thousands(BIRTHS as usize)
            ),
            // In proportion to the births that there were.
            found: at_goal.text_in("%", 2),
            met: at_goal.median().map(|pct| pct <= 1.5),
        },
    ]
}

fn json_of(tools: &[Tool], all: &[Costs]) -> Value {
    let one = |costs: &Costs| {
        json!({
            "total_pct": costs.total().json(),
            "cpu_pct": costs.user().json(),
            "bpf_pct": costs.bpf().json(),
            "births_per_s": costs.births_per_s.json(),
        })
    };
    tools.iter().zip(all).map(|((name, ..), costs)| (name.to_string(), one(costs))).collect()
}
