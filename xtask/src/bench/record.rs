//! Cost of recording: bytes per window, CPU time and memory, compared with other recorders.
//!
//! A recorder is measured from the end of one window to the end of a later one, when its output has
//! grown. Its output at the start (a file's header, all tasks once) is reported separately, because
//! it comes again only with every keyframe.

use super::bpf_stats::{self, Measured, Runs};
use super::report::{Check, Section};
use super::running::{Running, Surface};
use super::spread::Spread;
use super::table::{thousands, Table};
use super::{cost, cpu_time, peers, Bench};
use anyhow::{bail, Context, Result};
use exactop_recording::{Recording, TimeRange, Windows};
use exactop_workloads::workloads::{Sleepers, Tickers};
use serde_json::{json, Value};
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Number of processes, and of those that are active in every window.
const POPULATIONS: [(usize, usize); 4] = [(100, 10), (1_000, 30), (1_000, 100), (10_000, 300)];
/// The population of the figures per day and of the cost.
const USUAL: usize = 1;
const ROUNDS: usize = 3;
/// Output comes in pieces: it has ended when none came for this time.
const SETTLED: Duration = Duration::from_millis(400);
const LOOK: Duration = Duration::from_millis(20);
/// A keyframe comes every 10 minutes: number of windows of 10 s.
const KEYFRAME_WINDOWS: f64 = 60.0;
const WINDOWS_A_DAY: f64 = 8_640.0;

/// A recorder: its arguments, where FILE is its output and N the interval in s.
struct Tool {
    name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    /// Recorders with the same number run side by side.
    turn: u8,
}

const TOOLS: [Tool; 4] = [
    Tool {
        name: "exactop",
        program: "exactop",
        arguments: &["record", "-d", "N", "--dir", "FILE", "--source", "ledger"],
        turn: 0,
    },
    Tool { name: "atop", program: "atop", arguments: &["-w", "FILE", "N"], turn: 1 },
    Tool {
        name: "below",
        program: "below",
        arguments: &["--config", "FILE.toml", "record", "-i", "N"],
        turn: 1,
    },
    Tool {
        name: "below --compress",
        program: "below",
        arguments: &["--config", "FILE.toml", "record", "-i", "N", "--compress"],
        turn: 2,
    },
];
const TURNS: u8 = 3;

#[derive(Clone, Copy, Debug)]
struct RecorderCost {
    /// Output up to the end of the first window.
    begin_bytes: f64,
    window_bytes: f64,
    /// Rows that ran in a window; only exactop reports them.
    rows: Option<f64>,
    cpu_pct: f64,
    bpf_pct: Option<f64>,
    peak_mib: f64,
}

impl RecorderCost {
    fn total_pct(&self) -> f64 {
        self.cpu_pct + self.bpf_pct.unwrap_or(0.0)
    }

    /// Bytes per row beyond half a kB per window.
    fn bytes_a_row(&self) -> Option<f64> {
        Some((self.window_bytes - 500.0).max(0.0) / self.rows?)
    }

    /// MB per day with windows of 10 s and keyframes.
    fn day_mb(&self) -> f64 {
        (self.window_bytes + self.begin_bytes / KEYFRAME_WINDOWS) * WINDOWS_A_DAY / 1e6
    }
}

/// All measurements of one recorder with one number of processes.
#[derive(Default)]
struct RecorderRuns(Vec<RecorderCost>);

impl RecorderRuns {
    fn spread(&self, of: impl Fn(&RecorderCost) -> Option<f64>) -> Spread {
        self.0.iter().filter_map(of).collect()
    }
}

pub fn measure(bench: &Bench) -> Result<Section> {
    let _statistics = Measured::on()?;
    let mut figures = Vec::new();
    for (processes, active) in POPULATIONS {
        let _sleepers = Sleepers::start(processes - active)?;
        let _tickers = Tickers::start(active, Duration::from_millis(200))?;
        std::thread::sleep(Duration::from_secs(1));
        let mut all = TOOLS.map(|_| RecorderRuns::default());
        for round in 0..bench.rounds(ROUNDS) {
            eprintln!("bench: record, {processes} processes, {active} active, round {}", round + 1);
            everyone(bench, &mut all);
        }
        figures.push(all);
    }
    Ok(section(bench, &figures))
}

fn everyone(bench: &Bench, all: &mut [RecorderRuns; TOOLS.len()]) {
    let one = |tool: &Tool, all: &mut RecorderRuns| match kept(bench, tool) {
        Ok(kept) => all.0.extend(kept),
        Err(error) => eprintln!("bench: {}: {error:#}", tool.name),
    };
    if bench.apart {
        return TOOLS.iter().zip(all).for_each(|(tool, all)| one(tool, all));
    }
    for turn in 0..TURNS {
        std::thread::scope(|scope| {
            let of_turn = TOOLS.iter().zip(all.iter_mut()).filter(|(tool, _)| tool.turn == turn);
            for (tool, all) in of_turn {
                scope.spawn(move || one(tool, all));
            }
        });
    }
}

/// One measurement of a recorder; `None`: not installed.
fn kept(bench: &Bench, tool: &Tool) -> Result<Option<RecorderCost>> {
    let program = match tool.program {
        "exactop" => bench.exactop.clone(),
        peer => match peers::find(peer) {
            Some(program) => program,
            None => return Ok(None),
        },
    };
    let (interval, windows) = if bench.quick { (2, 3) } else { (10, 6) };
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("kept");
    write_config(&file)?;
    let running = start(&program, tool, &file, interval)?;
    let grows = |from| growth(&file, from, Duration::from_secs(3 * interval + 60));
    // Output before the first window, and with it.
    let before = grows(0)?;
    let begin = grows(before)?;
    let pid = running.pid();
    let (began, cpu, bpf) =
        (Instant::now(), cpu_time::of_process(pid)?, bpf_stats::of_process(pid));
    let mut bytes = begin;
    for _ in 0..windows {
        bytes = grows(bytes)?;
    }
    let elapsed = began.elapsed();
    let cpu = cpu_time::of_process(pid)? - cpu;
    let bpf = bpf.zip(bpf_stats::of_process(pid)).map(|(then, now): (Runs, Runs)| now.since(then));
    let peak_mib = cost::status_mib(pid, "VmHWM:")?;
    drop(running);
    let rows = match tool.program {
        "exactop" => Some(rows(&file)?),
        _ => None,
    };
    let pct = |ns: u64| 100.0 * ns as f64 / elapsed.as_nanos() as f64;
    Ok(Some(RecorderCost {
        begin_bytes: begin as f64,
        window_bytes: (bytes - begin) as f64 / windows as f64,
        rows,
        cpu_pct: pct(cpu),
        bpf_pct: bpf.map(|runs| pct(runs.time_ns)),
        peak_mib,
    }))
}

fn start(program: &Path, tool: &Tool, file: &Path, interval: u64) -> Result<Running> {
    let file = file.to_str().context("a temporary directory that is no UTF-8")?;
    let words = tool.arguments.iter().map(|word| match *word {
        "N" => interval.to_string(),
        word => word.replace("FILE", file),
    });
    let mut command = Command::new(program);
    command.args(words).env("HOME", "/dev/null").env_remove("XDG_CONFIG_HOME");
    Running::start(&mut command, Surface::Pipe)
}

/// below takes no directory on its command line, and needs a mount of the v2 groups alone.
fn write_config(file: &Path) -> Result<()> {
    let logs = file.with_extension("logs");
    std::fs::create_dir(&logs)?;
    let mounts = std::fs::read_to_string("/proc/mounts")?;
    let root = mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        words.next().filter(|_| words.next() == Some("cgroup2"))
    });
    let root = root.map_or(String::new(), |root| format!("cgroup_root = {root:?}\n"));
    let text = format!("log_dir = {logs:?}\nstore_dir = {file:?}\n{root}");
    Ok(std::fs::write(file.with_extension("toml"), text)?)
}

/// Size of a file, or of all files below a directory; 0 if it does not exist yet.
fn size(path: &Path) -> Result<u64> {
    let about = match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        about => about?,
    };
    if !about.is_dir() {
        return Ok(about.len());
    }
    std::fs::read_dir(path)?.map(|entry| size(&entry?.path())).sum()
}

/// Waits for growth. Returns the growth once no more comes.
fn growth(path: &Path, from: u64, patience: Duration) -> Result<u64> {
    let begun = Instant::now();
    let (mut bytes, mut since) = (from, Instant::now());
    loop {
        std::thread::sleep(LOOK);
        let now = size(path)?;
        if now != bytes {
            (bytes, since) = (now, Instant::now());
        }
        if bytes > from && since.elapsed() >= SETTLED {
            return Ok(bytes);
        }
        if begun.elapsed() > patience {
            bail!("nothing more was written within {} s", patience.as_secs());
        }
    }
}

/// Rows of a recorded window: active tasks, and groups of exited ones.
fn rows(recording: &Path) -> Result<f64> {
    let mut of = Windows::from_recording(Recording::open(recording)?, TimeRange::default())?;
    let (mut rows, mut windows) = (0, 0);
    while of.advance()? {
        let Some(window) = of.replay().window() else { continue };
        // The first window has the names of all tasks.
        if windows > 0 {
            rows += window.tasks.len() + window.exited.len();
        }
        windows += 1;
    }
    if windows < 2 {
        bail!("it recorded no window but the first");
    }
    Ok(rows as f64 / f64::from(windows - 1))
}

fn section(bench: &Bench, figures: &[[RecorderRuns; TOOLS.len()]]) -> Section {
    let (interval, windows) = if bench.quick { (2, 3) } else { (10, 6) };
    Section {
        name: "record",
        title: "Recording".into(),
        how: format!(
            "Windows of {interval} s, {windows} of them after the first, beside sleeping processes of which some \
             wake up every 0.2 s. exactop runs alone, then the others. *Bytes a window* is the growth of all files \
             of a recorder in each window. *At the beginning* is the size at the end of the first window, with all \
             tasks in it. Keyframes of exactop come every 10 minutes and are no larger. *Rows that ran* are tasks \
             that did something and groups of exited tasks (by parent, name, control group and CPU), of the whole \
             machine. CPU time is per cent of one CPU; memory is VmHWM."
        ),
        commands: TOOLS
            .iter()
            .map(|tool| format!("{} {}", tool.program, tool.arguments.join(" ")))
            .collect(),
        tables: vec![
            table("bytes a window", figures, |kept| Some(kept.window_bytes), 0),
            table("bytes at the beginning", figures, |kept| Some(kept.begin_bytes), 0),
            table("% of a CPU", figures, |kept| Some(kept.total_pct()), 3),
            table("memory, MiB", figures, |kept| Some(kept.peak_mib), 1),
            ours(figures),
        ],
        pictures: Vec::new(),
        checks: checks(figures),
        json: json_of(figures),
    }
}

fn heads(first: &str) -> Table {
    let heads = POPULATIONS.iter().map(|(all, active)| format!("{all} processes, {active} active"));
    Table::new(std::iter::once(first.to_string()).chain(heads))
}

fn table(
    title: &str,
    figures: &[[RecorderRuns; TOOLS.len()]],
    of: impl Fn(&RecorderCost) -> Option<f64>,
    decimals: usize,
) -> Table {
    let mut table = heads(title);
    for (at, tool) in TOOLS.iter().enumerate() {
        let cells = figures.iter().map(|all| all[at].spread(&of).text(decimals));
        table.row(std::iter::once(tool.name.to_string()).chain(cells));
    }
    table
}

fn ours(figures: &[[RecorderRuns; TOOLS.len()]]) -> Table {
    let mut table = heads("exactop");
    let mut row = |name: &str, of: &dyn Fn(&RecorderCost) -> Option<f64>, decimals| {
        let cells = figures.iter().map(|all| all[0].spread(of).text(decimals));
        table.row(std::iter::once(name.to_string()).chain(cells));
    };
    row("rows that ran, a window", &|kept| kept.rows, 0);
    row("bytes a row, beyond 500 a window", &RecorderCost::bytes_a_row, 1);
    row("MB a day in windows of 10 s, keyframes included", &|kept| Some(kept.day_mb()), 1);
    row("% of a CPU in the process", &|kept| Some(kept.cpu_pct), 3);
    row("% of a CPU in BPF", &|kept| kept.bpf_pct, 3);
    table
}

fn checks(figures: &[[RecorderRuns; TOOLS.len()]]) -> Vec<Check> {
    let usual = &figures[USUAL][0];
    let at_most = |target: String, spread: &Spread, most: f64, decimals, unit| Check {
        target,
        found: spread.text_in(unit, decimals),
        met: spread.median().map(|found| found <= most),
    };
    let size = |((processes, _), all): (&(usize, usize), &[RecorderRuns; TOOLS.len()])| {
        let processes = thousands(*processes);
        let target =
            format!("recording, {processes} processes: at most 40 bytes a row beyond 500 a window");
        at_most(target, &all[0].spread(RecorderCost::bytes_a_row), 40.0, 1, "bytes")
    };
    let mut checks: Vec<Check> = POPULATIONS.iter().zip(figures).map(size).collect();
    let day = usual.spread(|kept| Some(kept.day_mb()));
    let cpu = usual.spread(|kept| Some(kept.total_pct()));
    let peak = usual.spread(|kept| Some(kept.peak_mib));
    let of = |limit: &str| format!("recording, 1,000 processes, 30 active: at most {limit}");
    checks.push(at_most(of("15 MB a day"), &day, 15.0, 1, "MB"));
    checks.push(at_most(of("0.05 %"), &cpu, 0.05, 3, "%"));
    checks.push(at_most(of("20 MiB"), &peak, 20.0, 1, "MiB"));
    checks
}

fn json_of(figures: &[[RecorderRuns; TOOLS.len()]]) -> Value {
    let one = |all: &RecorderRuns| {
        json!({
            "begin_bytes": all.spread(|kept| Some(kept.begin_bytes)).json(),
            "window_bytes": all.spread(|kept| Some(kept.window_bytes)).json(),
            "rows": all.spread(|kept| kept.rows).json(),
            "cpu_pct": all.spread(|kept| Some(kept.cpu_pct)).json(),
            "bpf_pct": all.spread(|kept| kept.bpf_pct).json(),
            "peak_mib": all.spread(|kept| Some(kept.peak_mib)).json(),
        })
    };
    let tools = |all: &[RecorderRuns; TOOLS.len()]| -> Value {
        TOOLS.iter().zip(all).map(|(tool, all)| (tool.name.to_string(), one(all))).collect()
    };
    let name = |(processes, active): &(usize, usize)| format!("{processes}, {active} active");
    POPULATIONS.iter().zip(figures).map(|(of, all)| (name(of), tools(all))).collect()
}
