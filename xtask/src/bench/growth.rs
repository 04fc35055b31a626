//! How the precise top's cost grows: with tasks that do nothing, with tasks that come and go, and
//! with CPUs. The last in emulated machines, where only counts mean anything.

use super::ptop::{tools, watch, Cost};
use super::report::{Picture, Section};
use super::spread::Spread;
use super::table::Table;
use super::{bpf_stats, machine, Bench};
use anyhow::{bail, Context, Result};
use exactop_report::plot::{Axis, Chart, Mark, Point, Series};
use exactop_workloads::workloads::{ForkStorm, Sleepers};
use serde_json::{json, Value};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const IDLE: [usize; 4] = [100, 1_000, 5_000, 20_000];
/// Processes born a second; `None`: as many as the machine makes.
const FORKS: [Option<u64>; 4] = [Some(0), Some(200), Some(800), None];
const CPUS: [u32; 4] = [1, 2, 4, 8];
/// Refreshes of 2 s of each tool at each point.
const REFRESHES: u32 = 3;
/// The kernel of the emulated machines.
const KERNEL: &str = "6.12";

/// All three.
pub fn measure(bench: &Bench) -> Result<Section> {
    let idle = idle(bench)?;
    let forks = forks(bench)?;
    let cpus = cpus(bench);
    Ok(section(&idle, &forks, &cpus))
}

/// Costs of every tool at one point.
struct At {
    /// Where: tasks, or births a second as they came.
    x: Spread,
    costs: Vec<(String, Cost)>,
}

fn idle(bench: &Bench) -> Result<Vec<At>> {
    let _statistics = bpf_stats::Measured::on()?;
    let points = if bench.quick { &IDLE[..2] } else { &IDLE[..] };
    let mut all = Vec::new();
    for &tasks in points {
        let _sleepers = Sleepers::start(tasks)?;
        std::thread::sleep(Duration::from_secs(1));
        let x = std::iter::once(tasks as f64).collect();
        all.push(At { x, costs: each(bench, &format!("{tasks} idle tasks")) });
    }
    Ok(all)
}

fn each(bench: &Bench, what: &str) -> Vec<(String, Cost)> {
    let refreshes = if bench.quick { 1 } else { REFRESHES };
    let one = |(name, program, arguments): (String, String, Vec<String>)| {
        eprintln!("bench: growth, {what}, {name}");
        let mut cost = Cost::default();
        if let Err(error) = watch(bench, &program, &arguments, refreshes, &mut cost) {
            eprintln!("bench: {name}: {error:#}");
        }
        (name, cost)
    };
    tools().into_iter().map(one).collect()
}

fn forks(bench: &Bench) -> Result<Vec<At>> {
    let _statistics = bpf_stats::Measured::on()?;
    let points = if bench.quick { &FORKS[..2] } else { &FORKS[..] };
    let mut all = Vec::new();
    for &rate in points {
        let _storm = match rate {
            None => Some(ForkStorm::start(std::thread::available_parallelism()?.get())?),
            Some(_) => None,
        };
        let (stop, born) = (AtomicBool::new(false), AtomicU64::new(0));
        let at = std::thread::scope(|scope| {
            scope.spawn(|| births(rate.unwrap_or(0), &stop, &born));
            let (began, before) = (Instant::now(), machine::births());
            let costs = each(bench, &rate.map_or("all it can".into(), |r| format!("{r} forks/s")));
            let seconds = began.elapsed().as_secs_f64();
            stop.store(true, Ordering::Relaxed);
            let all = machine::births().zip(before).map(|(now, then)| now - then);
            At { x: all.map(|all| all as f64 / seconds).into_iter().collect(), costs }
        });
        all.push(at);
    }
    Ok(all)
}

/// Starts so many processes a second, evenly, until told to stop.
fn births(rate: u64, stop: &AtomicBool, born: &AtomicU64) {
    let began = Instant::now();
    while rate > 0 && !stop.load(Ordering::Relaxed) {
        let due = began.elapsed().as_micros() as u64 * rate / 1_000_000;
        while born.load(Ordering::Relaxed) < due && !stop.load(Ordering::Relaxed) {
            let _ = Command::new("/bin/true").status();
            born.fetch_add(1, Ordering::Relaxed);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Counts of a window in a machine of so many CPUs.
struct Counted {
    cpus: u32,
    found: Result<Counts>,
}

struct Counts {
    switches: u64,
    events: u64,
    rows: usize,
    residual_ns: i64,
    /// The books' total over CPUs times the window.
    closes: f64,
}

/// A pair that passes a byte to and fro and 200 sleepers, in machines of 1 to 8 CPUs.
fn cpus(bench: &Bench) -> Vec<Counted> {
    let points = if bench.quick { &CPUS[..1] } else { &CPUS[..] };
    let counted = |&cpus: &u32| {
        eprintln!("bench: growth, {cpus} CPUs");
        Counted { cpus, found: window_of(bench, cpus) }
    };
    points.iter().map(counted).collect()
}

fn window_of(bench: &Bench, cpus: u32) -> Result<Counts> {
    let directory = tempfile::tempdir()?;
    let script = directory.path().join("growth.sh");
    // The emulated CPUs share the real ones: the more there are, the longer all take to begin.
    let settle = 4 + 2 * cpus;
    let text = format!(
        "#!/bin/sh\nfor i in $(seq {cpus}); do /test/exactop load pingpong --duration 60 \
         >/dev/null & done\n/test/exactop load sleepers 200 --duration 60 >/dev/null &\n\
         sleep {settle}\n/test/exactop --batch --json -n 2 -d 2 --source ledger\n"
    );
    std::fs::write(&script, text)?;
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755))?;
    let program = format!("{}:/test/exactop", bench.exactop.display());
    let output = Command::new(std::env::current_exe()?)
        .args(["vm", "--kernel", KERNEL, "--cpus", &cpus.to_string(), "--file", &program])
        .args(["--".as_ref(), script.as_os_str()])
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().rfind(|line| line.starts_with("{\"schema\""));
    let Some(last) = last else {
        bail!("no window: {}", String::from_utf8_lossy(&output.stderr).trim_end());
    };
    counts(&serde_json::from_str(last)?).context("not a window")
}

fn counts(window: &Value) -> Option<Counts> {
    let number = |value: &Value| value.as_u64();
    let about = &window["window"];
    let length = number(&about["t1_ns"])? - number(&about["t0_ns"])?;
    let total = number(&window["books"]["total_ns"])?;
    let cpus = window["cpus"].as_array()?;
    Some(Counts {
        switches: cpus.iter().map(|cpu| number(&cpu["switches"])).sum::<Option<u64>>()?,
        events: number(&window["cost"]["bpf_events"])?,
        rows: window["tasks"].as_array()?.len(),
        residual_ns: about["residual_ns"].as_i64()?,
        closes: total as f64 / (cpus.len() as f64 * length as f64),
    })
}

fn section(idle: &[At], forks: &[At], cpus: &[Counted]) -> Section {
    Section {
        name: "growth",
        title: "How the precise top grows".into(),
        how: format!(
            "Every tool alone, windows of 2 s, {REFRESHES} at each point, the total of CPU time as \
             above. First with idle tasks, then with births of /bin/true at a steady rate (the \
             last: shells that do nothing else, on every CPU). Births are those the machine \
             counted, the tools' own among them. Last, emulated machines (Linux {KERNEL}) with a \
             pair that passes a byte to and fro for each CPU, and 200 sleepers: counts of one \
             window of the ledger, because times mean nothing there."
        ),
        commands: tools()
            .into_iter()
            .map(|(_, program, arguments)| format!("{program} {}", arguments.join(" ")))
            .collect(),
        tables: vec![
            table("% of a CPU with so many idle tasks", idle),
            table("% of a CPU with so many births a second", forks),
            of_cpus(cpus),
        ],
        pictures: vec![
            picture("growth-idle.svg", "Cost of watching idle tasks", "idle tasks", idle, true),
            picture("growth-forks.svg", "Cost of watching births", "births a second", forks, false),
        ],
        checks: Vec::new(),
        json: json!({
            "idle": as_json(idle),
            "births": as_json(forks),
            "cpus": cpus.iter().map(|counted| match &counted.found {
                Ok(c) => json!({ "cpus": counted.cpus, "switches": c.switches, "events": c.events,
                    "rows": c.rows, "residual_ns": c.residual_ns, "closes": c.closes }),
                Err(error) => json!({ "cpus": counted.cpus, "error": format!("{error:#}") }),
            }).collect::<Value>(),
        }),
    }
}

fn as_json(points: &[At]) -> Value {
    let at = |at: &At| {
        let costs = at.costs.iter().map(|(name, cost)| (name.clone(), cost.total.json()));
        json!({ "x": at.x.json(), "total_pct": costs.collect::<Value>() })
    };
    points.iter().map(at).collect()
}

fn table(title: &str, points: &[At]) -> Table {
    let heads = points.iter().map(|at| at.x.text(0));
    let mut table = Table::new(std::iter::once(title.to_string()).chain(heads));
    let Some(first) = points.first() else { return table };
    for (i, (name, _)) in first.costs.iter().enumerate() {
        let cells = points.iter().map(|at| at.costs[i].1.total.text(3));
        table.row(std::iter::once(name.clone()).chain(cells));
    }
    table
}

fn of_cpus(cpus: &[Counted]) -> Table {
    let mut table = Table::new([
        "emulated CPUs",
        "switches",
        "events of BPF",
        "rows",
        "residual, ns",
        "total / (CPUs x window)",
    ]);
    for counted in cpus {
        let cells = match &counted.found {
            Ok(c) => [
                c.switches.to_string(),
                c.events.to_string(),
                c.rows.to_string(),
                c.residual_ns.to_string(),
                format!("{:.6}", c.closes),
            ],
            Err(error) => {
                eprintln!("bench: {} CPUs: {error:#}", counted.cpus);
                std::array::from_fn(|_| "missing".to_string())
            }
        };
        table.row(std::iter::once(counted.cpus.to_string()).chain(cells));
    }
    table
}

fn picture(file: &'static str, title: &str, x: &str, points: &[At], log: bool) -> Picture {
    let names = points.first().map_or(&[][..], |at| &at.costs[..]);
    let line = |(i, (name, _)): (usize, &(String, Cost))| Series {
        name: name.clone(),
        mark: Mark::Line,
        colour: None,
        points: points
            .iter()
            .filter_map(|at| at.x.median().zip(at.costs[i].1.total.median()))
            .map(|(x, y)| Point::at(x, y))
            .collect(),
    };
    let chart = Chart {
        title: title.into(),
        x: Axis { log, ..Axis::of(x) },
        y: Axis { log: true, ..Axis::of("% of a CPU") },
        series: names.iter().enumerate().map(line).collect(),
    };
    Picture { file, chart }
}
