//! A group made by systemd: a transient scope (systemd.scope(5)), requested over D-Bus
//! (org.freedesktop.systemd1(5)) by busctl(1), which every systemd has. Two calls for each run do
//! not justify a D-Bus library.
//!
//! A scope lasts while a process is in it, and its counters vanish with it. So an idle process of
//! ours keeps it: a cat(1) that reads a pipe. It ends when this process closes the pipe or is
//! killed. The scope then ends with its last process.

use crate::{CgroupError, GroupLimits, Hierarchy, Version};
use exactop_files::programs;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for systemd to make or remove a scope.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time between two checks.
const STEP: Duration = Duration::from_millis(2);
/// Longest wait for an empty scope to vanish.
const GONE: Duration = Duration::from_secs(1);

/// systemd's manager on the bus: name, object and interface.
const MANAGER: [&str; 3] =
    ["org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"];

/// A scope of ours; it lasts until this is dropped and its last process has ended.
#[derive(Debug)]
pub struct Scope {
    unit: String,
    directory: PathBuf,
    keeper: Child,
}

/// True if systemd runs this machine (sd_booted(3)).
pub fn systemd_runs() -> bool {
    Path::new("/run/systemd/system").is_dir()
}

impl Scope {
    /// Makes a scope: by the system's manager for root, else by the user's own.
    ///
    /// # Errors
    /// systemd's error, and what would permit it.
    pub fn new(
        hierarchy: &Hierarchy,
        name: &str,
        limits: &GroupLimits,
    ) -> Result<Scope, CgroupError> {
        let cat = programs::system("cat").map_err(|error| refused("keep a scope", error))?;
        let mut keeper = Command::new(cat);
        keeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let keeper = keeper.spawn().map_err(|error| refused("keep a scope with cat(1)", error))?;
        let unit = format!("{name}.scope");
        let directory = hierarchy.root.clone();
        let mut scope = Scope { unit, directory, keeper };
        call(&start(&scope.unit, scope.keeper.id(), limits))
            .map_err(|why| refused("make a scope", why))?;
        scope.directory = scope.arrive(hierarchy)?;
        Ok(scope)
    }

    /// Waits until the keeper is in the scope, and returns the scope's directory.
    fn arrive(&self, hierarchy: &Hierarchy) -> Result<PathBuf, CgroupError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let directory = hierarchy.directory_of(self.keeper.id())?;
            if directory.ends_with(&self.unit) {
                return has_cpu(hierarchy, directory);
            }
            if Instant::now() > deadline {
                let why = format!(
                    "{} does not exist after {} s: check 'systemctl status'",
                    self.unit,
                    PATIENCE.as_secs()
                );
                return Err(refused("make a scope", why));
            }
            std::thread::sleep(STEP);
        }
    }

    /// Directory of the scope.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes systemd move a process into the scope.
    pub fn take_in(&self, pid: u32) -> Result<(), CgroupError> {
        let pid = pid.to_string();
        call(&["AttachProcessesToUnit", "ssau", &self.unit, "/", "1", &pid].map(String::from))
            .map_err(|why| refused("put the command into its scope", why))
    }

    /// Processes in the scope that are not ours.
    pub fn processes(&self) -> Vec<u32> {
        let mut pids = Hierarchy::processes(&self.directory);
        pids.retain(|&pid| pid != self.keeper.id());
        pids
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        let empty = self.processes().is_empty();
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
        let deadline = Instant::now() + GONE;
        while empty && self.directory.ends_with(&self.unit) && self.directory.exists() {
            if Instant::now() > deadline {
                break;
            }
            std::thread::sleep(STEP);
        }
    }
}

/// Calls a method of the manager: the system's for root, else the user's own.
///
/// # Errors
/// The message of busctl(1) without "Call failed: ", which is systemd's.
fn call(method: &[String]) -> Result<(), String> {
    let busctl = programs::system("busctl").map_err(|error| error.to_string())?;
    let bus = if rustix::process::geteuid().is_root() { "--system" } else { "--user" };
    let mut command = Command::new(busctl);
    command.args([bus, "--quiet", "--allow-interactive-authorization=no"]);
    command.arg(format!("--timeout={}", PATIENCE.as_secs()));
    command.arg("call").args(MANAGER).args(method).stdin(Stdio::null());
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().next().unwrap_or("busctl(1) failed without a message");
    Err(line.strip_prefix("Call failed: ").unwrap_or(line).to_string())
}

/// Arguments of `StartTransientUnit`: name, mode, properties (each a name and a typed value), no
/// auxiliary units.
fn start(unit: &str, keeper: u32, limits: &GroupLimits) -> Vec<String> {
    let mut properties = vec![
        ["Description", "s", "a command under exactop run"].map(String::from).to_vec(),
        ["PIDs", "au", "1", &keeper.to_string()].map(String::from).to_vec(),
        // Other processes may be moved into the scope only if it is delegated.
        ["Delegate", "b", "true"].map(String::from).to_vec(),
        ["CPUAccounting", "b", "true"].map(String::from).to_vec(),
        ["CollectMode", "s", "inactive-or-failed"].map(String::from).to_vec(),
    ];
    let mut number = |name: &str, value: u64| {
        properties.push(vec![name.into(), "t".into(), value.to_string()]);
    };
    if let Some(weight) = limits.weight {
        number("CPUWeight", weight);
    }
    if let Some((quota_us, max)) = limits.max.and_then(|max| Some((max.quota_us?, max))) {
        let second = u128::from(quota_us) * 1_000_000 / u128::from(max.period_us.max(1));
        number("CPUQuotaPerSecUSec", u64::try_from(second).unwrap_or(u64::MAX));
        number("CPUQuotaPeriodUSec", max.period_us);
    }
    let count = properties.len().to_string();
    let begin = ["StartTransientUnit", "ssa(sv)a(sa(sv))", unit, "fail", &count].map(String::from);
    begin.into_iter().chain(properties.concat()).chain(["0".into()]).collect()
}

/// A user's manager may have no cpu controller.
fn has_cpu(hierarchy: &Hierarchy, directory: PathBuf) -> Result<PathBuf, CgroupError> {
    let file = match hierarchy.version {
        Version::V1 => "cpu.shares",
        Version::V2 => "cpu.weight",
    };
    match fs::exists(directory.join(file)) {
        Ok(true) => Ok(directory),
        _ => Err(refused(
            "limit a scope's CPU time",
            "it has no cpu controller: set Delegate=cpu for user@.service",
        )),
    }
}

fn refused(what: &'static str, why: impl std::fmt::Display) -> CgroupError {
    CgroupError::Systemd { what, why: why.to_string() }
}
