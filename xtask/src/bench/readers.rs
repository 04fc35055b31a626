//! Cost of many readers: each with an own ledger, or all through one daemon.

use super::report::{Check, Section};
use super::running::{Running, Surface};
use super::spread::Spread;
use super::table::Table;
use super::{bpf_stats, cpu_time, Bench};
use anyhow::{Context, Result};
use serde_json::{json, Value};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const READERS: [usize; 4] = [1, 2, 5, 20];
const ROUNDS: usize = 5;
/// The first reader reads ten times a second, as often as windows end, and the n-th at n times that
/// interval. So the number of windows does not depend on the number of readers.
const INTERVAL_S: f64 = 0.1;
const WARM: Duration = Duration::from_secs(3);
const TIME: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(60);
/// Something happens, and most of the time is left: on a busy machine readers would take time from
/// others.
const LOAD: &str = "while :; do /bin/true; sleep 0.005; done";
/// The target.
const MORE_PCT: f64 = 5.0;

/// The ledger that readers use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LedgerOwner {
    Daemons,
    Own,
}

/// CPU time, ms per second.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// The daemon's.
    daemon: f64,
    /// All BPF programs, by the kernel's count.
    programs: f64,
    readers: f64,
}

/// Figures for one number of readers.
#[derive(Default)]
struct Figures {
    daemon: Spread,
    programs: Spread,
    /// Daemon and programs together.
    ledger: Spread,
    readers: Spread,
    /// With own ledgers: programs, and all readers.
    own_programs: Spread,
    own_readers: Spread,
}

pub fn measure(bench: &Bench) -> Result<Section> {
    let _measured = bpf_stats::Measured::on()?;
    let mut load = Command::new("/bin/sh");
    let _storm = Running::start(load.args(["-c", LOAD]), Surface::Pipe)?;
    let mut figures: Vec<Figures> = READERS.iter().map(|_| Figures::default()).collect();
    for round in 0..bench.rounds(ROUNDS) {
        for (&readers, figures) in READERS.iter().zip(&mut figures) {
            eprintln!("bench: readers, round {}, {readers}", round + 1);
            let cost = cost(bench, readers, LedgerOwner::Daemons)?;
            figures.daemon.add(cost.daemon);
            figures.programs.add(cost.programs);
            figures.ledger.add(cost.daemon + cost.programs);
            figures.readers.add(cost.readers);
            let cost = self::cost(bench, readers, LedgerOwner::Own)?;
            figures.own_programs.add(cost.programs);
            figures.own_readers.add(cost.readers);
        }
    }
    Ok(section(&figures))
}

/// Runs this number of readers for some time.
fn cost(bench: &Bench, readers: usize, whose: LedgerOwner) -> Result<Cost> {
    let scratch = tempfile::tempdir().context("making a directory")?;
    let socket = scratch.path().join("socket");
    let daemon = match whose {
        LedgerOwner::Daemons => Some(daemon(bench, scratch.path(), "", &[])?),
        LedgerOwner::Own => None,
    };
    let reader = |n: usize| {
        let mut command = Command::new(&bench.exactop);
        let interval = format!("{:.1}", INTERVAL_S * (n + 1) as f64);
        command.args(["-b", "-i", "-d", &interval]).env("HOME", "/dev/null");
        match whose {
            LedgerOwner::Daemons => command.args(["--source", "daemon", "--socket"]).arg(&socket),
            LedgerOwner::Own => command.args(["--source", "ledger"]),
        };
        Running::start_looking_for(&mut command, Surface::Pipe, "\n")
    };
    let readers: Vec<Running> = (0..readers).map(reader).collect::<Result<_>>()?;
    for reader in &readers {
        reader.found(PATIENCE)?;
    }
    std::thread::sleep(WARM);
    let daemons: Vec<&Running> = daemon.iter().collect();
    let readers: Vec<&Running> = readers.iter().collect();
    let holders = if daemons.is_empty() { &readers } else { &daemons };
    let taken = || anyhow::Ok([cpu_ns(&daemons)?, programs_ns(holders)?, cpu_ns(&readers)?]);
    let (before, began) = (taken()?, Instant::now());
    std::thread::sleep(if bench.quick { TIME / 5 } else { TIME });
    let (after, seconds) = (taken()?, began.elapsed().as_secs_f64());
    let ms = |of: usize| (after[of] - before[of]) as f64 / 1e6 / seconds;
    Ok(Cost { daemon: ms(0), programs: ms(1), readers: ms(2) })
}

fn cpu_ns(of: &[&Running]) -> Result<u64> {
    of.iter().map(|process| cpu_time::of_process(process.pid())).sum()
}

/// Time of the programs that these processes hold.
fn programs_ns(of: &[&Running]) -> Result<u64> {
    let one = |process: &&Running| {
        let programs = bpf_stats::of_process(process.pid()).context("it attached nothing")?;
        Ok(programs.time_ns)
    };
    of.iter().map(one).sum()
}

/// A daemon with these settings and options. Its socket is `socket` in the directory.
pub fn daemon(bench: &Bench, scratch: &Path, settings: &str, options: &[&str]) -> Result<Running> {
    let (config, socket) = (scratch.join("config.toml"), scratch.join("socket"));
    std::fs::write(&config, settings).with_context(|| format!("writing {}", config.display()))?;
    let mut command = Command::new(&bench.exactop);
    command.arg("daemon").arg("--config").arg(&config).arg("--socket").arg(&socket);
    command.arg("--dir").arg(scratch.join("log")).args(options);
    let daemon = Running::start(&mut command, Surface::Pipe)?;
    let deadline = Instant::now() + PATIENCE;
    while UnixStream::connect(&socket).is_err() {
        anyhow::ensure!(Instant::now() < deadline, "the daemon does not serve");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(daemon)
}

fn section(figures: &[Figures]) -> Section {
    let mut table = Table::new([
        "readers",
        "daemon, ms/s",
        "its programs, ms/s",
        "readers, ms/s",
        "own ledgers: readers, ms/s",
        "programs, ms/s",
    ]);
    for (readers, f) in READERS.iter().zip(figures) {
        table.row([
            readers.to_string(),
            f.daemon.text(1),
            f.programs.text(1),
            f.readers.text(1),
            f.own_readers.text(1),
            f.own_programs.text(1),
        ]);
    }
    let more = |of: fn(&Figures) -> &Spread| {
        let ratio = of(&figures[READERS.len() - 1]).over(of(&figures[0]));
        ratio.map(|ratio| 100.0 * (ratio - 1.0))
    };
    let (both, alone) = (more(|f| &f.ledger), more(|f| &f.daemon));
    let check = Check {
        target: format!("20 readers, daemon and programs: at most {MORE_PCT} % more than one"),
        found: format!("{}; the daemon alone {}", both.text_in("%", 1), alone.text_in("%", 1)),
        met: both.median().map(|more| more <= MORE_PCT),
    };
    Section {
        name: "readers",
        title: "Readers".into(),
        how: "CPU time in ms a second, beside a shell that starts /bin/true and sleeps for 5 ms without end. The \
              daemon records with its default settings. The first reader has windows of 0.1 s, the n-th of n x \
              0.1 s, so as many windows end for all readers as for one. *Programs* is the run time of the BPF \
              programs; a part of it is in the time of interrupted tasks, too."
            .into(),
        commands: vec![
            "exactop daemon".into(),
            "exactop -b -i -d 0.1 --source daemon".into(),
            "exactop -b -i -d 0.1 --source ledger".into(),
        ],
        tables: vec![table],
        pictures: Vec::new(),
        checks: vec![check],
        json: json_of(figures),
    }
}

fn json_of(figures: &[Figures]) -> Value {
    let one = |f: &Figures| {
        json!({
            "daemon_ms_s": f.daemon.json(),
            "programs_ms_s": f.programs.json(),
            "readers_ms_s": f.readers.json(),
            "own_readers_ms_s": f.own_readers.json(),
            "own_programs_ms_s": f.own_programs.json(),
        })
    };
    READERS.iter().zip(figures).map(|(readers, f)| (readers.to_string(), one(f))).collect()
}
