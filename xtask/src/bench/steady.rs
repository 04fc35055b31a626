//! Cost of exactop in steady use: a refresh of the live view, and a daemon.

use super::readers::daemon;
use super::report::{Check, Section};
use super::running::{Running, Surface};
use super::spread::Spread;
use super::table::{thousands, Table};
use super::{bpf_stats, cpu_time, Bench};
use anyhow::{Context, Result};
use exactop_workloads::workloads::Sleepers;
use serde_json::{json, Value};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

const ROUNDS: usize = 3;
/// Start-up and the first windows do not count.
const WARM: Duration = Duration::from_secs(4);
const REFRESH_S: f64 = 0.2;
const SCRAPE: Duration = Duration::from_secs(15);
const SCRAPES: u32 = 2;
/// A few processes that run.
const LOAD: &str = "while :; do /bin/true; sleep 0.05; done";

/// A subject with its sleepers, command and target.
struct Subject {
    name: &'static str,
    sleepers: usize,
    command: &'static str,
    target: f64,
    unit: &'static str,
    measure: fn(&Bench) -> Result<f64>,
}

const SUBJECTS: [Subject; 4] = [
    Subject {
        name: "a refresh, without BPF programs",
        sleepers: 1_000,
        command: "exactop -d 0.2 --source ledger",
        target: 0.7,
        unit: "ms",
        measure: refresh_ms,
    },
    Subject {
        name: "its colours and graphs, at 200x50",
        sleepers: 1_000,
        command: "exactop -d 0.2 --source ledger",
        target: 5.0,
        unit: "%",
        measure: colours_pct,
    },
    Subject {
        name: "a daemon, scraped every 15 s",
        sleepers: 1_000,
        command: "exactop daemon --metrics 127.0.0.1:9101",
        target: 0.1,
        unit: "%",
        measure: scraped_pct,
    },
    Subject {
        name: "a daemon, `record.interval = \"1s\"`",
        sleepers: 10_000,
        command: "exactop daemon",
        target: 0.5,
        unit: "%",
        measure: windows_pct,
    },
];

pub fn measure(bench: &Bench) -> Result<Section> {
    let _statistics = bpf_stats::Measured::on()?;
    let mut figures = Vec::new();
    for subject in &SUBJECTS {
        let _sleepers = Sleepers::start(subject.sleepers)?;
        std::thread::sleep(Duration::from_secs(1));
        let mut spread = Spread::default();
        for round in 0..bench.rounds(ROUNDS) {
            eprintln!("bench: {}, round {}", subject.name, round + 1);
            spread.add((subject.measure)(bench)?);
        }
        figures.push(spread);
    }
    Ok(section(&figures))
}

fn refresh_ms(bench: &Bench) -> Result<f64> {
    refresh_ms_on(bench, Surface::Terminal)
}

/// What a whole screen takes longer with colours and graphs than without, of a refresh.
fn colours_pct(bench: &Bench) -> Result<f64> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["run", "--release", "-q", "-p", "exactop-tui", "--example", "drawing"]);
    let output = cargo.output().context("running cargo")?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let drawn: Value = serde_json::from_slice(&output.stdout)?;
    let ns = |key: &str| drawn[key].as_f64().with_context(|| format!("{drawn} has no {key}"));
    let extra_ms = (ns("with_ns")? - ns("without_ns")?) / 1e6;
    Ok(100.0 * extra_ms / refresh_ms_on(bench, Surface::LargeTerminal)?)
}

/// The process's CPU time for one refresh.
fn refresh_ms_on(bench: &Bench, surface: Surface) -> Result<f64> {
    let _load = Running::start(Command::new("/bin/sh").args(["-c", LOAD]), Surface::Pipe)?;
    let mut command = Command::new(&bench.exactop);
    command.args(["-d", &REFRESH_S.to_string(), "--source", "ledger"]);
    command.env("TERM", "xterm-256color").env("HOME", "/dev/null");
    let running = Running::start(&mut command, surface)?;
    std::thread::sleep(WARM);
    let (before, began) = (cpu_time::of_process(running.pid())?, Instant::now());
    std::thread::sleep(Duration::from_secs(if bench.quick { 2 } else { 10 }));
    let spent = cpu_time::of_process(running.pid())? - before;
    Ok(spent as f64 / 1e6 / (began.elapsed().as_secs_f64() / REFRESH_S))
}

/// A daemon's CPU time and that of its programs, % of a CPU.
fn scraped_pct(bench: &Bench) -> Result<f64> {
    let scratch = tempfile::tempdir().context("making a directory")?;
    // Free when looked at.
    let at = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
    let daemon = daemon(bench, scratch.path(), "", &["--metrics", &at.to_string()])?;
    std::thread::sleep(WARM);
    scrape(at)?;
    // The first scrape starts what later ones use, and the first window is of all tasks.
    std::thread::sleep(SCRAPE);
    scrape(at)?;
    spent_pct(&daemon, || {
        for _ in 0..if bench.quick { 1 } else { SCRAPES } {
            std::thread::sleep(SCRAPE);
            scrape(at)?;
        }
        Ok(())
    })
}

/// The same with a window of 1 s after the other.
fn windows_pct(bench: &Bench) -> Result<f64> {
    let scratch = tempfile::tempdir().context("making a directory")?;
    let daemon = daemon(bench, scratch.path(), "[record]\ninterval = \"1s\"\n", &[])?;
    std::thread::sleep(WARM);
    let seconds = if bench.quick { 5 } else { 20 };
    spent_pct(&daemon, || {
        std::thread::sleep(Duration::from_secs(seconds));
        Ok(())
    })
}

fn spent_pct(of: &Running, during: impl FnOnce() -> Result<()>) -> Result<f64> {
    let spent = || {
        let programs = bpf_stats::of_process(of.pid()).context("it attached nothing")?;
        anyhow::Ok(cpu_time::of_process(of.pid())? + programs.time_ns)
    };
    let (before, began) = (spent()?, Instant::now());
    during()?;
    let ns = spent()? - before;
    Ok(100.0 * ns as f64 / began.elapsed().as_nanos() as f64)
}

fn scrape(at: SocketAddr) -> Result<()> {
    let mut stream = TcpStream::connect(at).context("connecting to the metrics page")?;
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n")?;
    let mut page = String::new();
    stream.read_to_string(&mut page)?;
    let status = page.lines().next().unwrap_or_default();
    anyhow::ensure!(status.contains(" 200 "), "the metrics page answers {status:?}");
    Ok(())
}

fn section(figures: &[Spread]) -> Section {
    let mut table = Table::new(["", "processes", "CPU"]);
    let mut checks = Vec::new();
    for (subject, found) in SUBJECTS.iter().zip(figures) {
        let Subject { name, sleepers, target, unit, .. } = subject;
        let found_text = found.text_in(unit, 3);
        table.row([name.to_string(), thousands(*sleepers), found_text.clone()]);
        checks.push(Check {
            target: format!("{name}, {} processes: at most {target} {unit}", thousands(*sleepers)),
            found: found_text,
            met: found.median().map(|median| median <= *target),
        });
    }
    Section {
        name: "steady",
        title: "Refreshes and daemons".into(),
        how: "CPU time of a refresh in ms, of its colours and graphs in per cent of it, of a daemon and its programs in per cent of one CPU."
            .into(),
        commands: SUBJECTS.iter().map(|subject| subject.command.into()).collect(),
        tables: vec![table],
        pictures: Vec::new(),
        checks,
        json: json_of(figures),
    }
}

fn json_of(figures: &[Spread]) -> Value {
    let one = |(subject, found): (&Subject, &Spread)| {
        (subject.name.to_string(), json!({ "unit": subject.unit, "cost": found.json() }))
    };
    SUBJECTS.iter().zip(figures).map(one).collect()
}
