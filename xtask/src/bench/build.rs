//! Cost of `exactop run` for a build of a C project, compared with time(1).

use super::peers;
use super::report::{Check, Section};
use super::running::{Running, Surface};
use super::spread::Spread;
use super::table::Table;
use super::Bench;
use anyhow::{bail, Context, Result};
use serde_json::{json, Value};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 11;
/// Target: the largest ratio of the medians.
const AT_MOST: f64 = 1.01;
const PATIENCE: Duration = Duration::from_secs(300);

/// Measures both in turns, each round beginning with the other one.
pub fn measure(bench: &Bench) -> Result<Section> {
    let Some(time) = peers::find("time") else { bail!("time(1) is not installed") };
    let project = Project::new()?;
    let time: Vec<String> = vec![time.display().to_string(), "-o".into(), "/dev/null".into()];
    let run: Vec<String> = vec![bench.exactop.display().to_string(), "run".into(), "-q".into()];
    let fronts = [time, run];
    let mut seconds = [Spread::default(), Spread::default()];
    // The first build fills the page cache.
    project.build(&[])?;
    for round in 0..bench.rounds(ROUNDS) {
        eprintln!("bench: build, round {}", round + 1);
        for turn in 0..2 {
            let which = (round + turn) % 2;
            seconds[which].add(project.build(&fronts[which])?);
        }
    }
    Ok(section(&seconds))
}

/// The C sources that the build of the ledger also needs, in a directory of their own.
pub struct Project(tempfile::TempDir);

impl Project {
    /// Copies the sources.
    pub fn new() -> Result<Project> {
        let dir = tempfile::tempdir().context("making a directory")?;
        let sources = sources()?;
        let copied = Command::new("cp").arg("-r").arg(&sources).arg(dir.path()).status();
        if !copied.context("running cp")?.success() {
            bail!("cannot copy {}", sources.display());
        }
        Ok(Project(dir))
    }

    /// Builds the project behind `front`. Returns seconds.
    pub fn build(&self, front: &[String]) -> Result<f64> {
        let make = |words: &[String]| {
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]).current_dir(self.0.path().join("libbpf/src"));
            command.stderr(Stdio::null());
            Running::start(&mut command, Surface::Pipe)?.finish(PATIENCE)
        };
        make(&["make", "clean"].map(String::from))?;
        let words: Vec<String> =
            front.iter().cloned().chain(["make", "-j2"].map(String::from)).collect();
        let began = Instant::now();
        make(&words)?;
        Ok(began.elapsed().as_secs_f64())
    }
}

/// Directory of libbpf's sources in cargo's cache.
fn sources() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--all-features"])
        .output()
        .context("running cargo metadata")?;
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let package = packages.iter().find(|package| package["name"] == "libbpf-sys");
    let manifest = package.and_then(|package| package["manifest_path"].as_str());
    let manifest = Path::new(manifest.context("libbpf-sys is not among the packages")?);
    Ok(manifest.with_file_name("libbpf"))
}

fn section(seconds: &[Spread; 2]) -> Section {
    let [time, run] = seconds;
    let ratio = run.median().zip(time.median()).map(|(run, time)| run / time);
    let paired = run.over(time);
    let mut table = Table::new(["make -j2", "seconds", "ratio, pair by pair"]);
    table.row(["time make -j2".into(), time.text(2), String::new()]);
    table.row(["exactop run -q make -j2".into(), run.text(2), paired.text(3)]);
    let check = Check {
        target: "a build under `exactop run`: at most 1.01 times as long".into(),
        found: ratio.map_or("missing".into(), |ratio| format!("{ratio:.3} times")),
        met: ratio.map(|ratio| ratio <= AT_MOST),
    };
    Section {
        name: "build",
        title: "A build under exactop run".into(),
        how: "The C sources of libbpf on two CPUs, in turns with GNU time. The start and end of the ledger count."
            .into(),
        commands: ["/usr/bin/time -o /dev/null make -j2", "exactop run -q make -j2"]
            .map(String::from)
            .to_vec(),
        tables: vec![table],
        pictures: Vec::new(),
        checks: vec![check],
        json: json!({
            "time_s": time.json(), "exactop_run_s": run.json(), "ratio_of_medians": ratio,
            "ratio_paired": paired.json(),
        }),
    }
}
