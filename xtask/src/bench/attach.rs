//! Time for each command that attaches programs to attach them, and to detach them at its end.

use super::readers::daemon;
use super::report::{Check, Section};
use super::running::{Running, Surface};
use super::spread::Spread;
use super::table::Table;
use super::{bpf_stats, Bench};
use anyhow::{Context, Result};
use rustix::process::Signal;
use serde_json::{json, Value};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

const ROUNDS: usize = 7;
const PATIENCE: Duration = Duration::from_secs(30);
/// Length of the window of commands that show one, in seconds, as an argument.
const WINDOW: &str = "0.1";
const WINDOW_MS: f64 = 100.0;
/// Pause after the first window, so that the exit does not coincide with another window's end.
const PAUSE: Duration = Duration::from_millis(30);
/// The target.
const LEAVING_MS: f64 = 50.0;
/// Targets of `exactop run -q true`, with an own ledger and on a running daemon.
const RUN_MS: f64 = 60.0;
const RUN_ON_DAEMON_MS: f64 = 15.0;

/// How a command starts and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StartMode {
    /// On a terminal; `q` ends it.
    Live,
    /// Prints a window and continues until a signal comes.
    Windows,
    /// Prints the time at which its own command starts, and ends with it.
    Run,
    /// Writes a file until a signal comes.
    Trace,
}

struct Attaching {
    name: &'static str,
    arguments: &'static [&'static str],
    how: StartMode,
}

const COMMANDS: [Attaching; 7] = [
    Attaching {
        name: "live view",
        arguments: &["-d", "2", "--source", "ledger"],
        how: StartMode::Live,
    },
    Attaching {
        name: "batch",
        arguments: &["-b", "-i", "-d", WINDOW, "--source", "ledger"],
        how: StartMode::Windows,
    },
    Attaching { name: "run", arguments: &["run", "-q", "date", "+%s%N"], how: StartMode::Run },
    Attaching { name: "syscalls", arguments: &["syscalls", WINDOW], how: StartMode::Windows },
    Attaching { name: "wakeups", arguments: &["wakeups", WINDOW], how: StartMode::Windows },
    Attaching { name: "waits", arguments: &["waits", WINDOW], how: StartMode::Windows },
    Attaching { name: "trace", arguments: &["trace", "-d", WINDOW, "-o"], how: StartMode::Trace },
];

/// Figures of one command, in ms.
#[derive(Default)]
struct Figures {
    attaching: Spread,
    leaving: Spread,
}

/// Times of `exactop run -q true`, ms.
#[derive(Default)]
struct Runs {
    own: Spread,
    daemons: Spread,
}

/// Measures all commands in turns.
pub fn measure(bench: &Bench) -> Result<Section> {
    let scratch = tempfile::tempdir().context("making a directory")?;
    let mut figures: Vec<Figures> = COMMANDS.iter().map(|_| Figures::default()).collect();
    let daemon = daemon(bench, scratch.path(), "", &[])?;
    let socket = scratch.path().join("socket");
    let mut runs = Runs::default();
    for round in 0..bench.rounds(ROUNDS) {
        eprintln!("bench: attach, round {}", round + 1);
        for (command, figures) in COMMANDS.iter().zip(&mut figures) {
            let (attaching, leaving) = command
                .once(bench, scratch.path())
                .with_context(|| format!("exactop {}", command.arguments.join(" ")))?;
            attaching.into_iter().for_each(|ms| figures.attaching.add(ms));
            figures.leaving.add(leaving);
        }
        runs.own.add(run_ms(bench, "own", &socket)?);
        runs.daemons.add(run_ms(bench, "daemon", &socket)?);
    }
    drop(daemon);
    Ok(section(&figures, &runs))
}

impl Attaching {
    /// Time until the programs are attached, if that is visible from outside, and until they are
    /// gone, in ms.
    fn once(&self, bench: &Bench, scratch: &Path) -> Result<(Option<f64>, f64)> {
        let mut command = Command::new(&bench.exactop);
        command.args(self.arguments).env("TERM", "xterm-256color").env("HOME", "/dev/null");
        match self.how {
            StartMode::Live => {
                let mut running = Running::start(&mut command, Surface::Terminal)?;
                wait_until_attached(&running)?;
                let began = Instant::now();
                running.press(b"q")?;
                running.ended(PATIENCE)?;
                Ok((None, ms(began.elapsed())))
            }
            StartMode::Windows => {
                let began = Instant::now();
                let running = Running::start_looking_for(&mut command, Surface::Pipe, "\n")?;
                let attaching = ms(running.found(PATIENCE)? - began) - WINDOW_MS;
                std::thread::sleep(PAUSE);
                Ok((Some(attaching), interrupted(running)?))
            }
            StartMode::Run => {
                let began = SystemTime::now();
                let output = command.output()?;
                let ended = SystemTime::now();
                let text = String::from_utf8_lossy(&output.stdout);
                let ns = text.trim().parse().context("date printed no number")?;
                let started = SystemTime::UNIX_EPOCH + Duration::from_nanos(ns);
                let attaching = started.duration_since(began)?;
                Ok((Some(ms(attaching)), ms(ended.duration_since(started)?)))
            }
            StartMode::Trace => {
                command.arg(scratch.join("trace"));
                let began = Instant::now();
                Running::start(&mut command, Surface::Pipe)?.ended(PATIENCE)?;
                let whole = ms(began.elapsed());
                let mut command = Command::new(&bench.exactop);
                command.args(["trace", "-d", "1000", "-o"]).arg(scratch.join("trace"));
                let running = Running::start(&mut command, Surface::Pipe)?;
                wait_until_attached(&running)?;
                let leaving = interrupted(running)?;
                Ok((Some(whole - WINDOW_MS - leaving), leaving))
            }
        }
    }
}

/// The whole time of `exactop run -q true`, ms.
fn run_ms(bench: &Bench, source: &str, socket: &Path) -> Result<f64> {
    let mut command = Command::new(&bench.exactop);
    command.args(["run", "-q", "--source", source]);
    if source == "daemon" {
        command.arg("--socket").arg(socket);
    }
    let began = Instant::now();
    let status = command.arg("true").env("HOME", "/dev/null").status()?;
    anyhow::ensure!(status.success(), "{command:?} failed ({status})");
    Ok(ms(began.elapsed()))
}

/// Waits until the process holds programs, and some time more for all of them.
fn wait_until_attached(running: &Running) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while bpf_stats::of_process(running.pid()).is_none() {
        anyhow::ensure!(Instant::now() < deadline, "it attached nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_secs(1));
    Ok(())
}

/// Time from Ctrl-C to the end, ms.
fn interrupted(running: Running) -> Result<f64> {
    let began = Instant::now();
    running.signal(Signal::INT)?;
    running.ended(PATIENCE)?;
    Ok(ms(began.elapsed()))
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn section(figures: &[Figures], runs: &Runs) -> Section {
    let mut table = Table::new(["command", "until attached, ms", "until gone, ms"]);
    for (command, figures) in COMMANDS.iter().zip(figures) {
        let attaching = match command.how {
            StartMode::Live => "see First frame".into(),
            _ => figures.attaching.text(0),
        };
        table.row([command.name.to_string(), attaching, figures.leaving.text(1)]);
    }
    let slowest = COMMANDS
        .iter()
        .zip(figures)
        .filter_map(|(command, figures)| Some((figures.leaving.median()?, command, figures)))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let check = Check {
        target: format!("leaving: at most {LEAVING_MS} ms"),
        found: slowest
            .as_ref()
            .map_or("missing".into(), |(_, _, figures)| figures.leaving.text_in("ms", 1)),
        met: slowest.map(|(median, ..)| median <= LEAVING_MS),
    };
    let run = |found: &Spread, what: &str, most: f64| Check {
        target: format!("`exactop run -q true`, {what}: at most {most} ms"),
        found: found.text_in("ms", 1),
        met: found.median().map(|ms| ms <= most),
    };
    let own = run(&runs.own, "own ledger", RUN_MS);
    let on_daemon = run(&runs.daemons, "on a daemon", RUN_ON_DAEMON_MS);
    Section {
        name: "attach",
        title: "Attaching and leaving".into(),
        how: "*Until attached*: from the start to the text of the first window, less that window's 100 ms; for \
              `run`, to the start of its command. *Until gone*: from the key `q`, Ctrl-C or the command's start to \
              the end of the process."
            .into(),
        commands: COMMANDS.iter().map(|c| format!("exactop {}", c.arguments.join(" "))).collect(),
        tables: vec![table],
        pictures: Vec::new(),
        checks: vec![check, own, on_daemon],
        json: json_of(figures, runs),
    }
}

fn json_of(figures: &[Figures], runs: &Runs) -> Value {
    let one =
        |f: &Figures| json!({ "attaching_ms": f.attaching.json(), "leaving_ms": f.leaving.json() });
    let mut all: Value =
        COMMANDS.iter().zip(figures).map(|(c, f)| (c.name.to_string(), one(f))).collect();
    all["run -q true, ms"] = json!({ "own": runs.own.json(), "daemon": runs.daemons.json() });
    all
}
