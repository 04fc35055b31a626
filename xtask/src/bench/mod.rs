//! `cargo xtask bench`: the cost of looking, compared with other tops on the same machine at the
//! same time.
//!
//! Every figure comes from one run. Tools are measured side by side or in turns, several times, and
//! shown as median and range, because the machine is never idle enough to compare one run with
//! another. A tool that is not installed is missing in the tables, never 0.

mod attach;
mod bpf_stats;
mod build;
mod cost;
mod cpu_time;
mod empty;
mod file_size;
mod first_frame;
mod kept;
mod loaded;
mod machine;
mod named_by;
mod peers;
mod pipe;
mod ptop;
mod readers;
mod record;
mod report;
mod running;
mod spread;
mod steady;
mod switches;
mod table;
mod terminal;
mod truth;
mod wrap;

use anyhow::{bail, Context, Result};
use clap::ValueEnum;
use report::{Report, Section};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Measurements, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
enum Benchmark {
    /// Measure CPU time and memory for watching idle processes
    Cost,
    /// Measure the same beside a load that empties the caches, and beside births
    Loaded,
    /// Measure the extra cost of a context switch
    Switches,
    /// Measure the cost of `exactop run` for a build, compared with time(1)
    Build,
    /// Measure the precise top: every source of ours and other tops
    Ptop,
    /// Measure recording: bytes, CPU time and memory, compared with atop and below
    Record,
    /// Measure the time from start to the first frame
    Start,
    /// Measure the time until programs are attached, and until they are gone
    Attach,
    /// Measure 1, 2, 5 and 20 readers, each with an own ledger and through one daemon
    Readers,
    /// Measure a refresh of the live view, and a daemon
    Steady,
    /// Measure the program file
    Size,
    /// Compare CPU time of many loads by the ledger, perf, control groups and /proc (only on
    /// request)
    Truth,
}

/// Measure the cost of looking, beside other tops.
///
/// It takes about a quarter of an hour. The ledger needs root. The peers are top, htop, atop,
/// pidstat, perf and below; peers that are not installed are left out. An idle machine gives the
/// best figures; the report says how busy it was.
#[derive(clap::Args)]
pub struct Args {
    /// Run fewer rounds and shorter windows, as a trial
    #[arg(long)]
    quick: bool,
    /// Run only this measurement; may be given several times
    #[arg(long, value_enum, value_name = "NAME")]
    only: Vec<Benchmark>,
    /// Run one tool at a time instead of some side by side; takes much longer
    #[arg(long)]
    apart: bool,
    /// Run N rounds of the cost of looking
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Also write everything as JSON to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also write the tables as a page to this file; lines between `<!-- by hand -->` and `<!-- end -->` stay
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Also draw the pictures into this directory
    #[arg(long, value_name = "DIR")]
    pictures: Option<PathBuf>,
    /// Measure this exactop instead of building one
    #[arg(long, value_name = "PROGRAM")]
    exactop: Option<PathBuf>,
}

impl Args {
    /// The selected measurements in the order of [`Benchmark`]. The truth bench also measures other
    /// programs than exactop, so it runs only by name.
    fn chosen(&self) -> impl Iterator<Item = Benchmark> + '_ {
        let all = Benchmark::value_variants().iter().copied();
        all.filter(|what| match self.only.is_empty() {
            true => *what != Benchmark::Truth,
            false => self.only.contains(what),
        })
    }
}

/// Common state of the measurements.
struct Bench {
    exactop: PathBuf,
    quick: bool,
    apart: bool,
    rounds: Option<usize>,
}

impl Bench {
    /// Number of rounds: the usual one, or one for a trial.
    fn rounds(&self, usual: usize) -> usize {
        match (self.rounds, self.quick) {
            (Some(rounds), _) => rounds.max(1),
            (None, true) => 1,
            (None, false) => usual,
        }
    }
}

/// Measures, prints, writes.
pub fn run(args: &Args) -> Result<ExitCode> {
    if !rustix::process::geteuid().is_root() {
        bail!("the ledger needs root: run as root");
    }
    let built = programs(args.exactop.is_none())?;
    let exactop = args.exactop.clone().unwrap_or_else(|| built.join("exactop"));
    std::env::set_var(
        exactop_workloads::worker::WORKER_VARIABLE,
        built.join("exactop-workload-worker"),
    );
    let bench = Bench { exactop, quick: args.quick, apart: args.apart, rounds: args.rounds };
    peers::report_missing();
    let before = args.markdown.as_deref().and_then(|file| std::fs::read_to_string(file).ok());
    let before = before.unwrap_or_default();
    let mut report = Report::new(machine::read());
    for what in args.chosen() {
        let name = what.into();
        eprintln!("bench: {name} ...");
        let section = measure(what, &bench).unwrap_or_else(|e| Section::failed(name, &e));
        println!("{}", section.text());
        draw(args.pictures.as_deref(), &section)?;
        report.sections.push(section);
        // After each section, so that finished measurements survive an interruption.
        write(args.json.as_deref(), || Ok(serde_json::to_string_pretty(&report.json())? + "\n"))?;
        write(args.markdown.as_deref(), || Ok(report.markdown(&before)))?;
    }
    println!("{}", report.summary());
    Ok(ExitCode::SUCCESS)
}

fn measure(what: Benchmark, bench: &Bench) -> Result<Section> {
    match what {
        Benchmark::Cost => cost::measure(bench),
        Benchmark::Loaded => loaded::measure(bench),
        Benchmark::Switches => switches::measure(bench),
        Benchmark::Build => build::measure(bench),
        Benchmark::Ptop => ptop::measure(bench),
        Benchmark::Record => record::measure(bench),
        Benchmark::Start => first_frame::measure(bench),
        Benchmark::Attach => attach::measure(bench),
        Benchmark::Readers => readers::measure(bench),
        Benchmark::Steady => steady::measure(bench),
        Benchmark::Size => file_size::measure(bench),
        Benchmark::Truth => truth::measure(bench),
    }
}

/// Builds the release programs, and returns their directory.
fn programs(exactop_too: bool) -> Result<PathBuf> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["build", "--release", "-p", "exactop-workloads"]);
    if exactop_too {
        cargo.args(["-p", "exactop", "--features", "exactop/static"]);
    }
    if !cargo.status().context("running cargo")?.success() {
        bail!("the build failed");
    }
    Ok(super::target_dir().join("release"))
}

fn draw(directory: Option<&Path>, section: &Section) -> Result<()> {
    let Some(directory) = directory else { return Ok(()) };
    for picture in &section.pictures {
        let file = directory.join(picture.file);
        let svg = picture.chart.svg()?;
        std::fs::write(&file, svg).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(())
}

fn write(file: Option<&Path>, text: impl FnOnce() -> Result<String>) -> Result<()> {
    let Some(file) = file else { return Ok(()) };
    std::fs::write(file, text()?).with_context(|| format!("writing {}", file.display()))
}
