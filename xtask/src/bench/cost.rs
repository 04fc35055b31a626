//! Cost of watching idle processes: CPU time and memory of the tools.
//!
//! A tool is measured from the end of one refresh to the end of a later one, so start-up does not
//! count and no refresh counts in part. exactop and its main peer run alone in turns, because the
//! ledger's cost depends on the activity of other processes. The other peers run side by side.

use super::bpf_stats::{self, Measured, Runs};
use super::report::{Check, Section};
use super::running::{Running, Surface};
use super::spread::Spread;
use super::table::{thousands, Table};
use super::{cpu_time, peers, Bench};
use anyhow::{Context, Result};
use exactop_workloads::workloads::Sleepers;
use serde_json::{json, Value};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

const POPULATIONS: [usize; 4] = [100, 1_000, 10_000, 30_000];
const ROUNDS: usize = 3;
const REFRESHES: u32 = 3;
/// Longer than any tool's time between two refreshes.
const PATIENCE: Duration = Duration::from_secs(6);

/// The row of the targets, and their peer.
const OURS: &str = "exactop";
const PEER: &str = "top";

struct Tool {
    name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    surface: Surface,
    turn: u8,
}

/// Number of turns: tools with the same number run side by side.
const TURNS: u8 = 4;

const fn tool(
    name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    surface: Surface,
    turn: u8,
) -> Tool {
    Tool { name, program, arguments, surface, turn }
}

const TOOLS: [Tool; 11] = [
    tool(OURS, "exactop", &["-d", "2", "--source", "ledger"], Surface::Terminal, 0),
    tool(PEER, "top", &["-d", "2"], Surface::Terminal, 1),
    tool(
        "exactop, 200x50",
        "exactop",
        &["-d", "2", "--source", "ledger"],
        Surface::LargeTerminal,
        2,
    ),
    tool("top, 200x50", "top", &["-d", "2"], Surface::LargeTerminal, 3),
    tool("exactop -b", "exactop", &["-b", "-d", "2", "--source", "ledger"], Surface::Pipe, 2),
    tool("exactop -b -i", "exactop", &["-bi", "-d", "2", "--source", "ledger"], Surface::Pipe, 2),
    tool("top -b", "top", &["-b", "-d", "2"], Surface::Pipe, 3),
    tool("exactop, procfs", "exactop", &["-d", "2", "--source", "procfs"], Surface::Terminal, 3),
    tool("htop", "htop", &["-d", "20"], Surface::Terminal, 3),
    tool("atop", "atop", &["2"], Surface::Terminal, 3),
    tool("pidstat", "pidstat", &["2"], Surface::Pipe, 3),
];

/// One measurement of one tool; CPU time in per cent of one CPU.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// The process's own time, user and system.
    pub cpu_pct: f64,
    /// Time of its BPF programs; `None`: it has none.
    pub bpf_pct: Option<f64>,
    bpf_runs_per_s: Option<f64>,
    rss_mib: f64,
    /// The part that is memory of BPF maps.
    maps_mib: f64,
    peak_mib: f64,
}

impl Look {
    fn rss(&self) -> Option<f64> {
        Some(self.rss_mib)
    }

    fn maps(&self) -> Option<f64> {
        Some(self.maps_mib)
    }

    fn without_maps(&self) -> Option<f64> {
        Some(self.rss_mib - self.maps_mib)
    }

    /// Mean time of a run of its BPF programs, ns.
    fn run_ns(&self) -> Option<f64> {
        Some(self.bpf_pct? * 1e7 / self.bpf_runs_per_s?)
    }

    fn peak(&self) -> Option<f64> {
        Some(self.peak_mib)
    }

    /// Sum of both.
    pub fn total_pct(&self) -> f64 {
        self.cpu_pct + self.bpf_pct.unwrap_or(0.0)
    }
}

/// All measurements of one tool with one number of processes.
#[derive(Default)]
struct ToolRuns(Vec<Look>);

impl ToolRuns {
    fn spread(&self, of: impl Fn(&Look) -> Option<f64>) -> Spread {
        self.0.iter().filter_map(of).collect()
    }

    fn total(&self) -> Spread {
        self.spread(|look| Some(look.total_pct()))
    }
}

pub fn measure(bench: &Bench) -> Result<Section> {
    let _statistics = Measured::on()?;
    let mut figures = Vec::new();
    for population in POPULATIONS {
        let sleepers = Sleepers::start(population)?;
        // The kernel still handles their births.
        std::thread::sleep(Duration::from_secs(1));
        let mut looks: Vec<ToolRuns> = TOOLS.iter().map(|_| ToolRuns::default()).collect();
        for round in 0..bench.rounds(ROUNDS) {
            eprintln!("bench: {population} processes, round {}", round + 1);
            for (looks, look) in looks.iter_mut().zip(everyone(bench)) {
                looks.0.extend(look);
            }
        }
        figures.push(looks);
        drop(sleepers);
    }
    Ok(section(bench, &figures))
}

/// One measurement of each tool; `None`: not installed, or it failed.
fn everyone(bench: &Bench) -> Vec<Option<Look>> {
    let one = |tool: &Tool| match look_at(bench, tool.program, tool.arguments, tool.surface) {
        Ok(look) => look,
        Err(error) => {
            eprintln!("bench: {}: {error:#}", tool.name);
            None
        }
    };
    if bench.apart {
        return TOOLS.iter().map(one).collect();
    }
    let mut looks = TOOLS.map(|_| None);
    for turn in 0..TURNS {
        std::thread::scope(|scope| {
            for (tool, look) in TOOLS.iter().zip(&mut looks).filter(|(t, _)| t.turn == turn) {
                scope.spawn(move || *look = one(tool));
            }
        });
    }
    looks.into()
}

/// One measurement of a tool; "exactop" is ours. `None`: not installed.
///
/// # Errors
/// The tool cannot be started, or ends before it has been measured.
pub fn look_at(
    bench: &Bench,
    program: &str,
    arguments: &[&str],
    surface: Surface,
) -> Result<Option<Look>> {
    let Some(program) = find(bench, program) else { return Ok(None) };
    let mut command = Command::new(program);
    command.args(arguments).env("TERM", "xterm-256color");
    // Without any user's settings.
    command.env("HOME", "/dev/null").env_remove("XDG_CONFIG_HOME").env_remove("HTOPRC");
    let running = Running::start(&mut command, surface)?;
    let pid = running.pid();
    // The first refresh comes at once, exactop's next one when its programs are loaded; full
    // intervals follow.
    let mut began = running.after_refresh(PATIENCE);
    for _ in 0..2 {
        began = running.after_refresh(PATIENCE).max(began);
    }
    let (cpu, bpf) = (cpu_time::of_process(pid)?, bpf_stats::of_process(pid));
    let mut ended = began;
    for _ in 0..if bench.quick { 2 } else { REFRESHES } {
        ended = running.after_refresh(PATIENCE);
    }
    let cpu = cpu_time::of_process(pid)? - cpu;
    let bpf = bpf.zip(bpf_stats::of_process(pid)).map(|(then, now): (Runs, Runs)| now.since(then));
    let elapsed = ended - began;
    let pct = |ns: u64| 100.0 * ns as f64 / elapsed.as_nanos() as f64;
    Ok(Some(Look {
        cpu_pct: pct(cpu),
        bpf_pct: bpf.map(|runs| pct(runs.time_ns)),
        bpf_runs_per_s: bpf.map(|runs| runs.count as f64 / elapsed.as_secs_f64()),
        rss_mib: status_mib(pid, "VmRSS:")?,
        maps_mib: maps_mib(pid)?,
        peak_mib: status_mib(pid, "VmHWM:")?,
    }))
}

fn find(bench: &Bench, program: &str) -> Option<PathBuf> {
    match program {
        "exactop" => Some(bench.exactop.clone()),
        peer => peers::find(peer),
    }
}

/// A size in /proc/PID/status, MiB.
pub fn status_mib(pid: u32, field: &str) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    Ok(kib.with_context(|| format!("no {field} in /proc/{pid}/status"))? / 1024.0)
}

/// Resident memory of BPF maps (proc_pid_smaps(5)), MiB.
fn maps_mib(pid: u32) -> Result<f64> {
    let smaps = fs::read_to_string(format!("/proc/{pid}/smaps"))?;
    let mut of_a_map = false;
    let mut kib = 0.0;
    for line in smaps.lines() {
        match line.strip_prefix("Rss:") {
            Some(rss) if of_a_map => {
                let rss = rss.trim().strip_suffix(" kB").and_then(|n| n.parse::<f64>().ok());
                kib += rss.with_context(|| format!("{line:?} in /proc/{pid}/smaps"))?;
            }
            Some(_) => {}
            // A mapping's first line begins with its addresses; its figures begin with a name and a
            // colon.
            None if !line.split(' ').next().unwrap_or_default().ends_with(':') => {
                of_a_map = line.contains("bpf-map");
            }
            None => {}
        }
    }
    Ok(kib / 1024.0)
}

fn section(bench: &Bench, figures: &[Vec<ToolRuns>]) -> Section {
    let apart = if bench.apart { " Each tool ran alone." } else { "" };
    Section {
        name: "cost",
        title: "Sleeping processes".into(),
        how: format!(
            "Per cent of one CPU, user and system time, over {} refreshes at an interval of 2 s. The start does \
             not count. Live views have 80x24. *BPF* is the programs' run time by the kernel's statistics. It \
             depends on the switches of the machine, not on the number of processes.{apart}",
            if bench.quick { 2 } else { REFRESHES }
        ),
        commands: TOOLS
            .iter()
            .map(|tool| format!("{} {}", tool.program, tool.arguments.join(" ")))
            .collect(),
        tables: vec![times(figures), memory(figures).captioned(events(figures))],
        pictures: Vec::new(),
        checks: checks(figures),
        json: json_of(figures),
    }
}

fn times(figures: &[Vec<ToolRuns>]) -> Table {
    let first = format!("{} processes, %", thousands(POPULATIONS[0]));
    let titles = POPULATIONS[1..].iter().map(|&n| format!("{}, %", thousands(n)));
    let mut table = Table::new(["tool".into(), first].into_iter().chain(titles));
    for (at, tool) in TOOLS.iter().enumerate() {
        let cells = figures.iter().map(|looks| looks[at].total().text(3));
        table.row([tool.name.to_string()].into_iter().chain(cells));
        // BPF is the machine's, so its part is about the same for each exactop.
        if tool.name == OURS {
            let user = figures.iter().map(|l| l[at].spread(|l| Some(l.cpu_pct)).text(3));
            table.row(["- the process".to_string()].into_iter().chain(user));
            let bpf = figures.iter().map(|l| l[at].spread(|l| l.bpf_pct).text(3));
            table.row(["- BPF".to_string()].into_iter().chain(bpf));
        }
    }
    table
}

/// The caption of the table of memory, after a sentence on the runs of BPF programs.
fn events(figures: &[Vec<ToolRuns>]) -> String {
    let range = |of: &dyn Fn(&Look) -> Option<f64>| -> Option<(f64, f64)> {
        let medians = figures.iter().filter_map(|looks| looks[0].spread(of).median());
        let medians: Vec<f64> = medians.collect();
        let least = medians.iter().copied().reduce(f64::min)?;
        Some((least, medians.iter().copied().reduce(f64::max)?))
    };
    let runs = range(&|l| l.bpf_runs_per_s).zip(range(&Look::run_ns)).map_or(
        String::new(),
        |(runs, ns)| {
            // Three digits are certain.
            let tens = |ns: f64| thousands((ns / 10.0).round() as usize * 10);
            format!(
                "The programs ran {:.0} to {:.0} times a second, {} to {} ns each.\n\n",
                runs.0,
                runs.1,
                tens(ns.0),
                tens(ns.1)
            )
        },
    );
    runs + "Resident memory (VmRSS), the part in BPF maps, and the peak (VmHWM), in MiB:"
}

fn memory(figures: &[Vec<ToolRuns>]) -> Table {
    let shown = [1, POPULATIONS.len() - 1];
    let titles = shown.map(|at| {
        [format!("{}: VmRSS", thousands(POPULATIONS[at])), "maps".into(), "VmHWM".into()]
    });
    let titles = titles.into_iter().flatten();
    let mut table = Table::new(["tool".to_string()].into_iter().chain(titles));
    // Each peer once: its memory does not depend on the terminal.
    let once = |tool: &Tool| tool.program == "exactop" || tool.name == tool.program;
    for (at, tool) in TOOLS.iter().enumerate().filter(|(_, tool)| once(tool)) {
        let cells = shown.map(|population| {
            let looks = &figures[population][at];
            [Look::rss, Look::maps, Look::peak].map(|of| mib(&looks.spread(of)))
        });
        table.row([tool.name.to_string()].into_iter().chain(cells.into_iter().flatten()));
    }
    table
}

/// The median alone, as memory hardly differs from round to round.
fn mib(spread: &Spread) -> String {
    match spread.median() {
        Some(0.0) => "0".into(),
        Some(mib) => format!("{mib:.1}"),
        None => "missing".into(),
    }
}

fn checks(figures: &[Vec<ToolRuns>]) -> Vec<Check> {
    let of = |name: &str| TOOLS.iter().position(|tool| tool.name == name).unwrap_or(0);
    let total = |population: usize, name: &str| figures[population][of(name)].total();
    let at_most = |population: usize, ours: &str, peer: &str, part: f64| {
        let ratio = total(population, peer).over(&total(population, ours));
        Check {
            target: format!(
                "{} processes{}: at most 1/{part} of {}",
                thousands(POPULATIONS[population]),
                match ours.strip_prefix(OURS).unwrap_or_default() {
                    way if way.starts_with(" ") => format!(", `{}`", way.trim_start()),
                    size => size.to_string(),
                },
                peer.split(',').next().unwrap_or_default()
            ),
            found: format!("1/{}", ratio.text(1)),
            met: ratio.median().map(|ratio| ratio >= part),
        }
    };
    let memory = |population: usize, what: &str, of_look: fn(&Look) -> Option<f64>, most: f64| {
        let found = figures[population][of(OURS)].spread(of_look);
        Check {
            target: format!(
                "{what}, {} processes: at most {most} MiB",
                thousands(POPULATIONS[population])
            ),
            found: format!("{} MiB", mib(&found)),
            met: found.median().map(|mib| mib <= most),
        }
    };
    let run_us = figures[1][of(OURS)].spread(Look::run_ns).map(|ns| ns / 1e3);
    let growth = total(3, OURS).over(&total(0, OURS));
    vec![
        at_most(1, OURS, PEER, 25.0),
        at_most(1, "exactop, 200x50", "top, 200x50", 15.0),
        at_most(2, OURS, PEER, 150.0),
        at_most(2, "exactop -b", "top -b", 10.0),
        at_most(2, "exactop -b -i", "top -b", 30.0),
        Check {
            target: "100 to 30,000 processes: no growth (1.0)".into(),
            found: growth.text(2),
            met: growth.median().map(|growth| growth < 1.05),
        },
        Check {
            target: "a run of a program, cold caches: at most 1.2 µs".into(),
            found: run_us.text_in("µs", 2),
            met: run_us.median().map(|us| us <= 1.2),
        },
        memory(1, "memory with BPF maps", Look::rss, 8.0),
        memory(1, "memory at its peak", Look::peak, 12.0),
        memory(3, "memory without BPF maps", Look::without_maps, 40.0),
    ]
}

fn json_of(figures: &[Vec<ToolRuns>]) -> Value {
    let one = |looks: &ToolRuns| {
        json!({
            "cpu_pct": looks.spread(|l| Some(l.cpu_pct)).json(),
            "bpf_pct": looks.spread(|l| l.bpf_pct).json(),
            "total_pct": looks.total().json(),
            "bpf_runs_per_s": looks.spread(|l| l.bpf_runs_per_s).json(),
            "rss_mib": looks.spread(Look::rss).json(),
            "maps_mib": looks.spread(Look::maps).json(),
            "peak_mib": looks.spread(Look::peak).json(),
        })
    };
    let tools = |looks: &Vec<ToolRuns>| -> Value {
        TOOLS.iter().zip(looks).map(|(tool, looks)| (tool.name.to_string(), one(looks))).collect()
    };
    POPULATIONS.iter().zip(figures).map(|(n, looks)| (n.to_string(), tools(looks))).collect()
}
