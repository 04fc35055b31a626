//! A group that systemd makes: a transient scope (systemd.scope(5)), asked for over D-Bus
//! (org.freedesktop.systemd1(5)).
//!
//! A scope is there as long as a process is in it, and what it used is gone with it. So a process
//! of ours that does nothing keeps it: a cat(1) that waits for an end of file, which comes when
//! this process lets go of the pipe or is killed. The scope goes with its last process, without
//! anyone's help.

use crate::{CgroupError, Hierarchy, Version, Wanted};
use exactop_files::programs;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use zbus::Variant;

/// How long systemd may take to make or remove a scope.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it is looked at.
const STEP: Duration = Duration::from_millis(2);
/// How long an empty scope may take to go, before we go on without it.
const GONE: Duration = Duration::from_secs(1);

/// Part of systemd's manager (org.freedesktop.systemd1(5)).
#[zbus::proxy(
    interface = "org.freedesktop.systemd1.Manager",
    default_service = "org.freedesktop.systemd1",
    default_path = "/org/freedesktop/systemd1"
)]
trait Manager {
    fn start_transient_unit(
        &self,
        name: &str,
        mode: &str,
        properties: &[(&str, Variant<'_>)],
        others: &[(&str, &[(&str, Variant<'_>)])],
    ) -> zbus::Result<zbus::OwnedObjectPath>;

    fn attach_processes_to_unit(&self, unit: &str, group: &str, pids: &[u32]) -> zbus::Result<()>;
}

/// A scope of ours, until this is dropped and its last process is gone.
#[derive(Debug)]
pub struct Scope {
    unit: String,
    directory: PathBuf,
    keeper: Child,
}

/// Whether systemd runs this machine (sd_booted(3)).
pub fn systemd_runs() -> bool {
    Path::new("/run/systemd/system").is_dir()
}

impl Scope {
    /// Has systemd make one: the system's for root, else the user's own.
    ///
    /// # Errors
    /// What systemd says, and what would permit it.
    pub fn new(hierarchy: &Hierarchy, name: &str, wanted: &Wanted) -> Result<Scope, CgroupError> {
        let cat = programs::system("cat").map_err(|error| refused("keep a scope", error))?;
        let mut keeper = Command::new(cat);
        keeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let keeper = keeper.spawn().map_err(|error| refused("keep a scope with cat(1)", error))?;
        let unit = format!("{name}.scope");
        let directory = hierarchy.root.clone();
        let mut scope = Scope { unit, directory, keeper };
        let made = zbus::block_on(start(&scope.unit, scope.keeper.id(), wanted));
        made.map_err(|error| refused("make a scope", error))?;
        scope.directory = scope.arrive(hierarchy)?;
        Ok(scope)
    }

    /// Waits until the keeper is in it, and says where that is.
    fn arrive(&self, hierarchy: &Hierarchy) -> Result<PathBuf, CgroupError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let directory = hierarchy.directory_of(self.keeper.id())?;
            if directory.ends_with(&self.unit) {
                return has_cpu(hierarchy, directory);
            }
            if Instant::now() > deadline {
                let why = format!("{} is not there after {} s", self.unit, PATIENCE.as_secs());
                return Err(refused("make a scope", why));
            }
            std::thread::sleep(STEP);
        }
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Has systemd put a process into it.
    ///
    /// # Errors
    /// What systemd says.
    pub fn take_in(&self, pid: u32) -> Result<(), CgroupError> {
        let taken = zbus::block_on(async {
            let manager = manager().await?;
            manager.attach_processes_to_unit(&self.unit, "/", &[pid]).await
        });
        taken.map_err(|error| refused("put the command into its scope", error))
    }

    /// Processes in it that are not ours.
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

async fn manager() -> zbus::Result<ManagerProxy<'static>> {
    let bus = match rustix::process::geteuid().is_root() {
        true => zbus::Connection::system().await?,
        false => zbus::Connection::session().await?,
    };
    ManagerProxy::new(&bus).await
}

async fn start(unit: &str, keeper: u32, wanted: &Wanted) -> zbus::Result<()> {
    let mut properties = vec![
        ("Description", Variant::from("a command under exactop run")),
        ("PIDs", Variant::from(vec![keeper])),
        // Others may be put into it only if it is handed over.
        ("Delegate", Variant::from(true)),
        ("CPUAccounting", Variant::from(true)),
        ("CollectMode", Variant::from("inactive-or-failed")),
    ];
    if let Some(weight) = wanted.weight {
        properties.push(("CPUWeight", Variant::from(weight)));
    }
    if let Some((quota_us, max)) = wanted.max.and_then(|max| Some((max.quota_us?, max))) {
        let second = u128::from(quota_us) * 1_000_000 / u128::from(max.period_us.max(1));
        let second = u64::try_from(second).unwrap_or(u64::MAX);
        properties.push(("CPUQuotaPerSecUSec", Variant::from(second)));
        properties.push(("CPUQuotaPeriodUSec", Variant::from(max.period_us)));
    }
    manager().await?.start_transient_unit(unit, "fail", &properties, &[]).await.map(|_| ())
}

/// A user's manager may have been handed no cpu controller.
fn has_cpu(hierarchy: &Hierarchy, directory: PathBuf) -> Result<PathBuf, CgroupError> {
    let file = match hierarchy.version {
        Version::V1 => "cpu.shares",
        Version::V2 => "cpu.weight",
    };
    match fs::exists(directory.join(file)) {
        Ok(true) => Ok(directory),
        _ => Err(refused(
            "limit a scope's CPU time",
            "it was handed no cpu controller (Delegate=cpu for user@.service permits it)",
        )),
    }
}

fn refused(what: &'static str, why: impl std::fmt::Display) -> CgroupError {
    CgroupError::Systemd { what, why: why.to_string() }
}
