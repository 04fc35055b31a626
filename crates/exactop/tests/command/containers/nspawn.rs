//! Containers made by systemd-nspawn, in the groups that systemd gives them. On a machine without
//! systemd the test makes these groups itself, with the names that systemd would use.

use super::{assert_charged, by_name, each_of, is_here, some, spun_ns};
use super::{Watching, AT_ONCE, SPINS};
use crate::run::groups;
use exactop_testkit::wait;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Enters a group, and runs the command there.
const ENTER: &str = "echo $$ >\"$0\" && exec \"$@\"";

/// The scope of a container; removed at the end.
struct Scope(PathBuf);

impl Scope {
    fn of(name: &str, slice: &Path) -> Scope {
        // A dash would separate levels of slices (systemd.unit(5)).
        let scope = slice.join(format!("machine-{}.scope", name.replace('-', "\\x2d")));
        fs::create_dir(&scope).expect("a group");
        Scope(scope)
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// A minimal system in which a container can start.
fn root() -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a directory");
    fs::create_dir(root.path().join("usr")).expect("a directory");
    for name in ["bin", "lib", "lib64"].iter().filter(|name| Path::new("/usr").join(name).exists())
    {
        symlink(format!("usr/{name}"), root.path().join(name)).expect("a link");
    }
    root
}

/// Runs a container to its end.
fn spawn(name: &str, root: &Path, slice: &Path) -> u64 {
    let scope = Scope::of(name, slice);
    let mut nspawn = Command::new("sh");
    nspawn.args(["-c", ENTER]).arg(scope.0.join("cgroup.procs"));
    nspawn.args(["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--pipe"]);
    nspawn.args(["--machine", name, "--bind-ro=/usr", "--directory"]).arg(root);
    nspawn.args(["/bin/sh", "-c", SPINS]);
    let spun_ns = spun_ns(name, nspawn);
    wait::until("nobody in its group", || fs::remove_dir(&scope.0).is_ok());
    spun_ns
}

#[test]
fn brief_containers_of_nspawn_are_charged_by_their_machines_names() {
    let Some(groups) = groups().filter(|_| is_here("systemd-nspawn", "systemd-container")) else {
        return;
    };
    if Path::new("/run/systemd/system").exists() {
        return eprintln!("left out: groups are systemd's to make here");
    }
    let slice = groups.join("machine.slice");
    fs::create_dir_all(&slice).expect("a group");
    let roots: Vec<_> = (0..AT_ONCE).map(|_| root()).collect();
    let dir = tempfile::tempdir().expect("a directory");
    let look = ["--json", "--by", "container", "--source", "ledger", "-d", "0.5"];
    let watching = Watching::start(dir.path(), &look);
    let told = each_of(some(), |n, at| {
        let name = format!("exactop-nspawn-{}-{n}", std::process::id());
        let spun_ns = spawn(&name, roots[at].path(), &slice);
        (name, spun_ns)
    });
    watching.settle();
    let sums = by_name(&watching.stop());
    // Another test may still use it.
    let _ = fs::remove_dir(&slice);
    assert_charged(&told, &sums);
}
