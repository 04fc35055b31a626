//! Restricts files (landlock(7)): a process reads only where the system keeps the figures and
//! writes only where its command writes. It executes nothing and uses no other TCP ports.

use super::table::Writes;
use super::{ExtraAccess, Measure};
use crate::options::config;
use exactop_cgroups::mountinfo::OURS;
use exactop_cgroups::Hierarchy;
use exactop_sources::{own_rights, probe};
use landlock::{
    path_beneath_rules, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, NetPort,
    RestrictionStatus, RulesetCreatedAttr, RulesetError, RulesetStatus,
};
use std::path::{Path, PathBuf};

/// Readable directories besides those that name containers: figures (proc, sys, run), names and
/// time zones (etc, usr), and kernel types where sysfs has none (boot, lib).
const READ: &[&str] = &["/proc", "/sys", "/etc", "/usr", "/run", "/var/run", "/lib", "/boot"];
/// The controlling terminal, and devices that programs expect.
const DEVICES: &[&str] = &["/dev/tty", "/dev/null", "/dev/urandom"];

/// How far files are restricted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fenced {
    /// Fully, by this version.
    Wholly(String),
    /// As far as this version goes.
    Partly(String),
    /// Not at all: the reason.
    Not(String),
    /// Not restricted on purpose: in this /proc, a restricted process would see no others.
    LeftOut,
    /// Not restricted, because it is unknown whether /proc hides processes: the reason.
    Unsure(String),
}

impl Fenced {
    /// The measure, the loss, and the remedy.
    pub fn describe(self) -> (Measure, &'static str, &'static str) {
        const GUARD: &str =
            "protection: an attacker who takes over exactop reaches every file of its user";
        match self {
            Fenced::Wholly(version) => (Measure::On(version), "", ""),
            Fenced::Partly(version) => (
                Measure::Partly(format!("{version} does not know all of these limits")),
                "part of the protection: limits of later versions, such as truncation, TCP and devices",
                "use Linux 6.12 or newer",
            ),
            Fenced::Not(why) => (
                Measure::Off(why),
                GUARD,
                "use a kernel with landlock among the modules of its boot parameter lsm=",
            ),
            Fenced::LeftOut => (
                Measure::Off("left out: /proc hides processes, and would hide all of them".into()),
                GUARD,
                "mount /proc without hidepid, if everyone may see everyone",
            ),
            Fenced::Unsure(why) => (
                Measure::Off(format!(
                    "left out: cannot read {OURS} ({why}), and if /proc hides processes, it would \
                     hide all of them"
                )),
                GUARD,
                "mount /proc where exactop runs",
            ),
        }
    }
}

/// Restricts this process.
pub fn fence(writes: Writes, beside: &ExtraAccess) -> Fenced {
    // A restricted process may not look at an unrestricted one (ptrace(2), access mode checking),
    // and a /proc that hides processes shows only those that the reader may look at.
    match probe::hides_processes() {
        Ok(true) => return Fenced::LeftOut,
        Ok(false) => {}
        Err(error) => return Fenced::Unsure(error.to_string()),
    }
    let owned = |paths: &[&Path]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
    let rules = Rules {
        read: owned(beside.readable),
        write: written(writes).into_iter().chain(owned(beside.written)).collect(),
        listens: beside.listens,
        connects: beside.connects.to_vec(),
    };
    match rules.apply() {
        Ok(status) => result(&status),
        Err(error) => Fenced::Not(error.to_string()),
    }
}

/// Directories below which a command writes.
fn written(writes: Writes) -> Vec<PathBuf> {
    // A process moves in both hierarchies of version 1.
    let groups = || {
        let hierarchy = Hierarchy::of_this_machine().ok();
        hierarchy.into_iter().flat_map(|h| [Some(h.root), h.accounting]).flatten()
    };
    match writes {
        // The caller names the directories of recordings.
        Writes::Nowhere | Writes::Recording | Writes::Output => Vec::new(),
        Writes::Configuration => configuration(),
        Writes::Groups => groups().collect(),
        Writes::ConfigurationAndGroups => groups().chain(configuration()).collect(),
    }
}

/// The directory of the configuration, and of its target if the file is a link, which is replaced.
fn configuration() -> Vec<PathBuf> {
    let Some(path) = config::path() else { return Vec::new() };
    let real = std::fs::canonicalize(&path).ok();
    real.iter().chain([&path]).filter_map(|path| directory_of(path)).map(PathBuf::from).collect()
}

/// The directory of the file; if it does not exist, the existing one above it, but at most the
/// user's own: HOME/.config/exactop, HOME/.config, HOME. If that is missing too, none.
fn directory_of(file: &Path) -> Option<&Path> {
    file.ancestors().skip(1).take(3).find(|above| above.parent().is_some() && above.is_dir())
}

#[derive(Default)]
struct Rules {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    /// TCP ports.
    listens: Option<u16>,
    connects: Vec<u16>,
}

/// TCP ports that stay allowed.
fn ports(
    ports: impl IntoIterator<Item = u16>,
    access: AccessNet,
) -> impl Iterator<Item = Result<NetPort, RulesetError>> {
    ports.into_iter().map(move |port| Ok(NetPort::new(port, access)))
}

impl Rules {
    fn apply(&self) -> Result<RestrictionStatus, RulesetError> {
        let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
        let write: BitFlags<AccessFs> = AccessFs::from_all(own_rights::WANTED) & !AccessFs::Execute;
        let zone = std::env::var_os("TZ").map(|zone| {
            let text = zone.to_string_lossy().into_owned();
            PathBuf::from(text.trim_start_matches(':'))
        });
        let zone = zone.filter(|path| path.is_absolute());
        let known = READ.iter().chain(exactop_cgroups::containers::READ);
        let read_paths = known.map(Path::new).chain(self.read.iter().map(PathBuf::as_path));
        own_rights::no_files()?
            .add_rules(path_beneath_rules(
                read_paths.chain(zone.as_deref()),
                own_rights::reading(),
            ))?
            .add_rules(path_beneath_rules(DEVICES, device))?
            .add_rules(path_beneath_rules(&self.write, write))?
            .add_rules(ports(self.listens, AccessNet::BindTcp))?
            .add_rules(ports(self.connects.iter().copied(), AccessNet::ConnectTcp))?
            .restrict_self()
    }
}

fn result(status: &RestrictionStatus) -> Fenced {
    let version = match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => {
            format!("version {}", effective_abi as i32)
        }
        LandlockStatus::NotEnabled => "the kernel has it, but it is not enabled".into(),
        LandlockStatus::NotImplemented => "the kernel does not have it".into(),
    };
    match status.ruleset {
        RulesetStatus::FullyEnforced => Fenced::Wholly(version),
        RulesetStatus::PartiallyEnforced => Fenced::Partly(version),
        RulesetStatus::NotEnforced => Fenced::Not(version),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::ErrorKind::PermissionDenied;

    /// Runs in a thread of its own, so that only this thread is restricted; `None`: the kernel has
    /// no landlock.
    fn fenced<T: Send>(rules: &Rules, test: impl FnOnce() -> T + Send) -> Option<T> {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                rustix::thread::set_no_new_privs(true).expect("prctl");
                let status = rules.apply().expect("rules");
                (status.ruleset != RulesetStatus::NotEnforced).then(test)
            });
            thread.join().expect("no panic")
        })
    }

    #[test]
    fn nothing_is_written_but_where_a_command_writes() {
        let (ours, others) = (tempfile::tempdir().expect("one"), tempfile::tempdir().expect("two"));
        fs::write(others.path().join("there"), "before").expect("a file");
        let rules = Rules {
            read: vec![others.path().into()],
            write: vec![ours.path().into()],
            ..Rules::default()
        };
        let done = fenced(&rules, || {
            let kind = |result: std::io::Result<()>| result.map_err(|error| error.kind());
            assert_eq!(kind(fs::write(ours.path().join("new"), "text")), Ok(()));
            assert_eq!(kind(fs::rename(ours.path().join("new"), ours.path().join("x"))), Ok(()));
            assert_eq!(fs::read(others.path().join("there")).expect("readable"), b"before");
            for refused in [
                fs::write(others.path().join("there"), "after"),
                fs::write(others.path().join("new"), "text"),
                fs::remove_file(others.path().join("there")),
                fs::create_dir(others.path().join("directory")),
            ] {
                assert_eq!(kind(refused), Err(PermissionDenied));
            }
            let run = std::process::Command::new("/bin/true").status().map(drop);
            assert_eq!(kind(run), Err(PermissionDenied));
        });
        if done.is_none() {
            return eprintln!("left out: this kernel has no landlock");
        }
        assert_eq!(fs::read(others.path().join("there")).expect("still there"), b"before");
    }

    #[test]
    fn a_missing_home_makes_nothing_above_it_writable() {
        let home = tempfile::tempdir().expect("a directory");
        let file = |home: &Path| home.join(".config/exactop/config.toml");
        assert_eq!(directory_of(&file(home.path())), Some(home.path()));
        fs::create_dir(home.path().join(".config")).expect("a directory");
        assert_eq!(directory_of(&file(home.path())), Some(&*home.path().join(".config")));
        for missing in [home.path().join("ghost"), "/nonexistent".into(), "/".into()] {
            assert_eq!(directory_of(&file(&missing)), None, "{}", missing.display());
        }
    }

    #[test]
    fn only_displayed_files_are_readable() {
        let elsewhere = tempfile::tempdir().expect("a directory");
        fs::write(elsewhere.path().join("secret"), "text").expect("a file");
        let rules = Rules::default();
        fenced(&rules, || {
            for path in ["/proc/self/stat", "/proc/1/stat", "/proc/stat", "/etc/passwd"] {
                assert!(fs::read(path).is_ok(), "{path}");
            }
            assert!(fs::read_dir("/sys/devices/system/cpu").is_ok());
            let refused = fs::read(elsewhere.path().join("secret")).map_err(|error| error.kind());
            assert_eq!(refused, Err(PermissionDenied));
        });
    }
}
