//! `cargo xtask fuzz`: every fuzz target of the workspace for a time, some at once.
//!
//! A target is a test whose name begins with `fuzz_` (crate `exactop-fuzzing`). What each said is kept
//! in `target/fuzz`; an input that made one fail is in its crate's `tests/corpus`.

use anyhow::{bail, ensure, Context, Result};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Fuzz every target (tests named fuzz_*) for a time
#[derive(clap::Args)]
pub struct Args {
    /// Seconds for each target
    #[arg(long, default_value_t = 600)]
    seconds: u32,
    /// Targets at once [default: as many as CPUs]
    #[arg(long)]
    jobs: Option<usize>,
    /// Only targets with this in their names; may be given several times
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// List the targets and stop
    #[arg(long)]
    list: bool,
}

/// Beyond its time a target may take this long: its last case, and making a finding smaller.
const GRACE: Duration = Duration::from_secs(600);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Target {
    name: String,
    program: PathBuf,
    package: PathBuf,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let wanted = |t: &Target| args.only.is_empty() || args.only.iter().any(|w| t.name.contains(w));
    let targets: Vec<Target> = targets()?.into_iter().filter(wanted).collect();
    ensure!(!targets.is_empty(), "no fuzz target has such a name: --list shows them");
    if args.list {
        targets.iter().for_each(|target| println!("{}", target.name));
        return Ok(ExitCode::SUCCESS);
    }
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.unwrap_or(cpus).clamp(1, targets.len());
    let logs = crate::target_dir().join("fuzz");
    fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
    println!(
        "{} targets, {} s each, {jobs} at once, logs in {}",
        targets.len(),
        args.seconds,
        logs.display()
    );
    let (passed, failed) = all(&targets, jobs, args.seconds, &logs)?;
    println!("{passed} passed, {failed} failed");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs them; how many found nothing, and how many something.
fn all(targets: &[Target], jobs: usize, seconds: u32, logs: &Path) -> Result<(usize, usize)> {
    let left = Mutex::new(targets.iter());
    let worker = || -> Result<(usize, usize)> {
        let mut counts = (0, 0);
        loop {
            let next = left.lock().expect("no worker panics here").next();
            let Some(target) = next else { return Ok(counts) };
            let log = logs.join(format!("{}.log", target.name.replace("::", ".")));
            let status = one(target, seconds, &log)?;
            let said = fs::read_to_string(&log)?;
            match status.success() {
                true => counts.0 += 1,
                false => counts.1 += 1,
            }
            tell(target, status, &said, &log);
        }
    };
    let sums: Vec<Result<(usize, usize)>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().map(|w| w.join().expect("a worker that ends")).collect()
    });
    sums.into_iter().try_fold((0, 0), |(passed, failed), sum| {
        let (p, f) = sum?;
        Ok((passed + p, failed + f))
    })
}

fn tell(target: &Target, status: ExitStatus, said: &str, log: &Path) {
    let line = |start: &str| said.lines().find(|line| line.starts_with(start));
    match (status.success(), line("fuzz ")) {
        (true, Some(line)) => println!("ok      {}: {line}", target.name),
        (true, None) => println!("ok      {}", target.name),
        (false, _) => {
            println!("FAILED  {}: {status}, see {}\n{}", target.name, log.display(), tail(said))
        }
    }
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

/// Runs one target alone.
fn one(target: &Target, seconds: u32, log: &Path) -> Result<ExitStatus> {
    let out = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let mut child = Command::new(&target.program)
        .args(["--exact", &target.name, "--nocapture"])
        .env("EXACTOP_FUZZ_SECONDS", seconds.to_string())
        .env("CARGO_MANIFEST_DIR", &target.package)
        .current_dir(&target.package)
        .stdin(Stdio::null())
        .stdout(out.try_clone()?)
        .stderr(out)
        .spawn()
        .with_context(|| format!("cannot start {}", target.program.display()))?;
    wait(&mut child, Duration::from_secs(seconds.into()) + GRACE)
}

fn wait(child: &mut Child, longest: Duration) -> Result<ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if start.elapsed() > longest {
            child.kill()?;
            return Ok(child.wait()?);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Builds the workspace's tests and asks each for its targets.
fn targets() -> Result<Vec<Target>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["test", "--workspace", "--no-run", "--quiet", "--message-format=json"])
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !built.status.success() {
        bail!("the tests do not build");
    }
    let mut targets = Vec::new();
    for line in String::from_utf8(built.stdout)?.lines() {
        if let Some((program, package)) = test_program(line) {
            targets.extend(targets_of(&program, &package)?);
        }
    }
    targets.sort();
    Ok(targets)
}

/// The program of one of cargo's messages, if it is of a test, and the directory of its package.
fn test_program(message: &str) -> Option<(PathBuf, PathBuf)> {
    let message: Value = serde_json::from_str(message).ok()?;
    message["profile"]["test"].as_bool().filter(|&is_test| is_test)?;
    let program = message["executable"].as_str()?;
    let package = Path::new(message["manifest_path"].as_str()?).parent()?;
    Some((program.into(), package.into()))
}

fn targets_of(program: &Path, package: &Path) -> Result<Vec<Target>> {
    let listed = Command::new(program)
        .args(["--list", "--format", "terse"])
        .current_dir(package)
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let list = String::from_utf8_lossy(&listed.stdout);
    let target = |name| Target { name, program: program.into(), package: package.into() };
    Ok(names(&list).map(target).collect())
}

fn names(list: &str) -> impl Iterator<Item = String> + '_ {
    let tests = list.lines().filter_map(|line| line.strip_suffix(": test"));
    let is_target = |name: &&str| name.rsplit("::").next().is_some_and(|n| n.starts_with("fuzz_"));
    tests.filter(is_target).map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_told_by_their_names() {
        let list = "fuzz_filters: test\nfuzz::fuzz_stat: test\nfuzz::reads: test\nfuzz_x: bench\n";
        assert_eq!(names(list).collect::<Vec<_>>(), ["fuzz_filters", "fuzz::fuzz_stat"]);
    }

    #[test]
    fn test_programs_are_found_in_cargos_messages() {
        let message = r#"{"reason":"compiler-artifact","manifest_path":"/p/Cargo.toml",
            "profile":{"test":true},"executable":"/t/deps/fuzz-1"}"#;
        assert_eq!(test_program(message), Some(("/t/deps/fuzz-1".into(), "/p".into())));
        assert_eq!(test_program(&message.replace("true", "false")), None);
        assert_eq!(test_program("warning: text"), None);
    }
}
