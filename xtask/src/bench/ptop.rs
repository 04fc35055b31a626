//! The comparison of the 2010 "precise top" work, with today's sources: the cost of watching a
//! thousand sleepers, and the difference of each tool's sum to a busy machine.

use super::build::Project;
use super::report::{Check, Picture, Section};
use super::running::{Running, Surface};
use super::spread::Spread;
use super::table::{thousands, Table};
use super::{bpf_stats, cpu_time, named_by, peers, Bench};
use anyhow::{Context, Result};
use exactop_report::plot::{Axis, Chart, Mark, Point, Series};
use exactop_workloads::procs::stat_field;
use exactop_workloads::workloads::{Sleepers, Spin};
use serde_json::{json, Value};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const SLEEPERS: usize = 1_000;
const ROUNDS: usize = 3;
/// Refreshes of 2 s in a measurement.
const REFRESHES: u32 = 5;
const PATIENCE: Duration = Duration::from_secs(6);
/// Number of windows of the sums, and the length of each, seconds.
const WINDOWS: usize = 6;
const WINDOW: u32 = 3;
/// Target: the largest ratio to top for the ledger and the snapshot.
const TARGET: f64 = 1.0 / 30.0;

const SOURCES: [&str; 4] = ["ledger", "snapshot", "taskstats", "procfs"];

pub fn measure(bench: &Bench) -> Result<Section> {
    let costs = costs(bench)?;
    let sums = sums(bench)?;
    Ok(section(&costs, &sums))
}

/// Cost of watching, per cent of a CPU.
#[derive(Default)]
pub struct Cost {
    user: Spread,
    system: Spread,
    bpf: Spread,
    /// Steal meanwhile, of all CPUs: the kernel counts it per CPU, not per task.
    steal: Spread,
    /// The whole cost.
    pub total: Spread,
}

/// Every source of ours and the peers: name, program, arguments.
pub fn tools() -> Vec<(String, String, Vec<String>)> {
    let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
    let ours = SOURCES.map(|source| {
        let arguments = words(&format!("ptop --source {source} 2"));
        (format!("exactop ptop, {source}"), "exactop".to_string(), arguments)
    });
    let peers = [
        ("top -b", "top", "-b -d 2"),
        ("htop", "htop", "-d 20"),
        ("atop", "atop", "2"),
        ("pidstat", "pidstat", "2"),
    ];
    let peers = peers.map(|(name, program, text)| (name.into(), program.into(), words(text)));
    ours.into_iter().chain(peers).collect()
}

fn costs(bench: &Bench) -> Result<Vec<(String, Cost)>> {
    let _statistics = bpf_stats::Measured::on()?;
    let _sleepers = Sleepers::start(SLEEPERS)?;
    std::thread::sleep(Duration::from_secs(1));
    let mut all: Vec<(String, Cost)> =
        tools().into_iter().map(|(name, ..)| (name, Cost::default())).collect();
    for round in 0..bench.rounds(ROUNDS) {
        eprintln!("bench: ptop, cost, round {}", round + 1);
        for ((_, cost), (name, program, arguments)) in all.iter_mut().zip(tools()) {
            if let Err(error) = watch(bench, &program, &arguments, REFRESHES, cost) {
                eprintln!("bench: {name}: {error:#}");
            }
        }
    }
    Ok(all)
}

/// Watches with one tool alone for some refreshes.
pub fn watch(
    bench: &Bench,
    program: &str,
    arguments: &[String],
    refreshes: u32,
    cost: &mut Cost,
) -> Result<()> {
    let path = match program {
        "exactop" => Some(bench.exactop.clone()),
        peer => peers::find(peer),
    };
    let path = path.context("not installed")?;
    let surface =
        if ["htop", "atop"].contains(&program) { Surface::Terminal } else { Surface::Pipe };
    let mut command = Command::new(path);
    command.args(arguments).env("TERM", "xterm-256color").env("HOME", "/dev/null");
    let running = Running::start(&mut command, surface)?;
    let pid = running.pid();
    running.after_refresh(PATIENCE);
    let began = running.after_refresh(PATIENCE);
    let ticks = || -> Option<(f64, f64)> {
        Some((stat_field(pid, 14)? as f64, stat_field(pid, 15)? as f64))
    };
    let machine = cpu_time::of_machine()?;
    let (cpu, bpf, before) = (cpu_time::of_process(pid)?, bpf_stats::of_process(pid), ticks());
    let mut ended = began;
    for _ in 0..refreshes {
        ended = running.after_refresh(PATIENCE);
    }
    let cpu = cpu_time::of_process(pid)? - cpu;
    let bpf = bpf.zip(bpf_stats::of_process(pid)).map_or(0, |(then, now)| now.since(then).time_ns);
    let (then, now) = before.zip(ticks()).context("it is gone")?;
    let (user, system) = (now.0 - then.0, now.1 - then.1);
    let pct = |ns: u64| 100.0 * ns as f64 / (ended - began).as_nanos() as f64;
    // The kernel's own split in ticks of 10 ms, applied to a time known to the nanosecond. Without
    // a tick the split is unknown.
    if user + system > 0.0 {
        let share = user / (user + system);
        cost.user.add(pct(cpu) * share);
        cost.system.add(pct(cpu) * (1.0 - share));
    }
    let after = cpu_time::of_machine()?;
    let stolen = after.steal.saturating_sub(machine.steal) as f64;
    cost.steal.add(100.0 * stolen / after.total.saturating_sub(machine.total).max(1) as f64);
    cost.bpf.add(pct(bpf));
    // An iterator runs within our own reads, so the process's time already includes it.
    let apart = if arguments.iter().any(|word| word == "snapshot") { 0 } else { bpf };
    cost.total.add(pct(cpu + apart));
    Ok(())
}

/// The sum of each tool's rows in each window, per cent of the CPUs.
fn sums(bench: &Bench) -> Result<Vec<(String, Spread)>> {
    let cpus = std::thread::available_parallelism()?.get();
    // One loop per CPU: loops that may move leave a CPU idle for a moment at each move.
    let _loops =
        (0..cpus).map(|cpu| Spin::start(1, Some(&[cpu]))).collect::<Result<Vec<_>, _>>()?;
    let project = Project::new()?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // make -j of a C project, again and again.
        scope.spawn(|| loop {
            if stop.load(Ordering::Relaxed) || project.build(&[]).is_err() {
                break;
            }
        });
        std::thread::sleep(Duration::from_secs(2));
        let sums = each_sum(bench, cpus);
        stop.store(true, Ordering::Relaxed);
        sums
    })
}

fn each_sum(bench: &Bench, cpus: usize) -> Result<Vec<(String, Spread)>> {
    let windows = if bench.quick { 2 } else { WINDOWS };
    let mut all = Vec::new();
    for source in SOURCES {
        eprintln!("bench: ptop, sums, {source}");
        let mut command = Command::new(&bench.exactop);
        let (length, count) = (WINDOW.to_string(), windows.to_string());
        command.args(["ptop", "--source", source, "--rows", "0", &length, &count]);
        let patience = Duration::from_secs(u64::from(WINDOW) * (windows as u64 + 2) + 10);
        let text = Running::start(&mut command, Surface::Pipe)?.finish(patience)?;
        let sums = text.lines().filter(|line| line.trim_start().starts_with("V:V:S"));
        let total = |line: &str| line.split_whitespace().nth(7)?.parse::<f64>().ok();
        let share = |line| total(line).map(|total| total / cpus as f64);
        all.push((format!("exactop ptop, {source}"), sums.filter_map(share).collect()));
    }
    type Ask = fn(&Bench) -> Result<named_by::NamedShare>;
    // Per cent of a CPU; atop counts ticks of its window.
    let ticks = f64::from(WINDOW) * rustix::param::clock_ticks_per_second() as f64;
    let peers: [(&str, Ask, f64); 3] = [
        ("top -b", named_by::top, 100.0),
        ("htop", named_by::htop, 100.0),
        ("atop", named_by::atop, ticks),
    ];
    for (name, ask, whole) in peers {
        let mut spread = Spread::default();
        for _ in 0..windows {
            match ask(bench) {
                Ok(said) => spread.add(100.0 * said.named / whole / cpus as f64),
                Err(error) => eprintln!("bench: {name}: {error:#}"),
            }
        }
        all.push((name.to_string(), spread));
    }
    Ok(all)
}

fn section(costs: &[(String, Cost)], sums: &[(String, Spread)]) -> Section {
    let top = costs.iter().find(|(name, _)| name == "top -b").and_then(|(_, c)| c.total.median());
    let ratio = |cost: &Cost| cost.total.median().zip(top).map(|(ours, top)| top / ours);
    let mut first = Table::new(["% of a CPU", "~user", "~sys", "BPF", "total", "top / tool"]);
    for (name, cost) in costs {
        first.row([
            short(name),
            median(&cost.user),
            median(&cost.system),
            if cost.bpf.max() == Some(0.0) { "0".into() } else { cost.bpf.text(3) },
            cost.total.text(3),
            ratio(cost).map_or("-".into(), |ratio| format!("{ratio:.1}")),
        ]);
    }
    let first = first.captioned(format!(
        "{} processes sleep. Each tool runs alone, for {REFRESHES} windows of 2 s a round. User and system time are \
         ticks (`~`); the total is exact. The snapshot's programs are in its system time.",
        thousands(SLEEPERS)
    ));
    Section {
        name: "ptop",
        title: "The precise top".into(),
        how: "`exactop ptop` repeats an experiment of 2010. There, top cost 2.87 % and the best source 0.09 %: 1/32."
            .into(),
        commands: tools()
            .into_iter()
            .map(|(_, program, arguments)| format!("{program} {}", arguments.join(" ")))
            .collect(),
        tables: vec![first, sums_of(sums)],
        checks: checks(costs, sums, ratio),
        pictures: vec![picture(sums)],
        json: json!({
            "cost": costs.iter().map(|(name, cost)| (name.clone(), json!({
                "user_pct": cost.user.json(), "system_pct": cost.system.json(),
                "bpf_pct": cost.bpf.json(), "total_pct": cost.total.json(),
                "steal_pct": cost.steal.json(),
            }))).collect::<Value>(),
            "sum_pct": sums.iter().map(|(name, sum)| (name.clone(), sum.json())).collect::<Value>(),
        }),
    }
}

fn sums_of(sums: &[(String, Spread)]) -> Table {
    let mut table = Table::new(["% of all CPUs", "sum of the rows", "off by at most"]);
    for (name, sum) in sums {
        let off = sum.map(|share| (share - 100.0).abs());
        let worst = off.max().map_or("-".into(), |off| format!("{off:.2}"));
        table.row([short(name), sum.text(2), worst]);
    }
    table.captioned(format!(
        "A loop runs on every CPU beside `make -j2` of libbpf, so no CPU idles. The rows of each tool should sum to \
         100 % in each window of {WINDOW} s. Snapshot and procfs exceed 100 % when make reaps an old child: the \
         kernel adds the child's whole life to `cutime`."
    ))
}

fn short(name: &str) -> String {
    name.strip_prefix("exactop ").unwrap_or(name).into()
}

fn median(spread: &Spread) -> String {
    spread.median().map_or("missing".into(), |median| format!("{median:.3}"))
}

/// The sums, window by window.
fn picture(sums: &[(String, Spread)]) -> Picture {
    let points = |sum: &Spread| {
        let each = sum.all().iter().enumerate();
        each.map(|(i, &share)| Point::at(i as f64 + 1.0, share)).collect()
    };
    let line = |(name, sum): &(String, Spread)| Series {
        name: name.clone(),
        mark: Mark::Line,
        colour: None,
        points: points(sum),
    };
    let windows = sums.iter().map(|(_, sum)| sum.all().len()).max().unwrap_or(0) as f64;
    let whole = Series {
        name: String::new(),
        mark: Mark::Prediction,
        colour: Some(6),
        points: vec![Point::at(1.0, 100.0), Point::at(windows, 100.0)],
    };
    let chart = Chart {
        title: "The sum of the rows on a busy machine".into(),
        x: Axis { range: Some((0.5, windows + 0.5)), ..Axis::new(format!("window of {WINDOW} s")) },
        y: Axis {
            range: Some((0.0, 150.0)),
            ..Axis::new("% of all CPUs (above 150: at the edge)")
        },
        // exactop's line is drawn above the others.
        series: std::iter::once(whole).chain(sums.iter().rev().map(line)).collect(),
    };
    Picture { file: "ptop-sums.svg", chart }
}

fn checks(
    costs: &[(String, Cost)],
    sums: &[(String, Spread)],
    ratio: impl Fn(&Cost) -> Option<f64>,
) -> Vec<Check> {
    let mut checks: Vec<Check> = costs[..2]
        .iter()
        .map(|(name, cost)| Check {
            target: format!("{}: at most 1/30 of top -b", short(name)),
            found: ratio(cost).map_or("missing".into(), |ratio| format!("1/{ratio:.1}")),
            met: ratio(cost).map(|ratio| ratio >= 1.0 / TARGET),
        })
        .collect();
    let ledger = &sums[0].1;
    checks.push(Check {
        target: "sum of all rows, ledger: within 0.1 % in every window".into(),
        found: ledger.text_in("%", 2),
        met: ledger.map(|share| (share - 100.0).abs()).max().map(|off| off <= 0.1),
    });
    checks
}
