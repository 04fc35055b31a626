//! Containers made by LXC, whose groups have the containers' names.

use super::{assert_charged, bound, by_name, each_of, is_here, remove_left, some, spun_ns};
use super::{Watching, SPINS};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Settings of a container: this machine's programs in an otherwise empty root.
fn settings(root: &Path) -> String {
    let mut settings = format!(
        "lxc.rootfs.path = dir:{}\nlxc.net.0.type = none\nlxc.mount.auto = proc:mixed\n",
        root.display()
    );
    for path in bound() {
        let within = path.trim_start_matches('/');
        settings += &format!("lxc.mount.entry = {path} {within} none ro,bind,create=dir 0 0\n");
    }
    settings
}

/// Groups that containers leave at the top of each hierarchy, and their lock directory; removed at
/// the end.
struct Left<'a>(&'a Path);

impl Drop for Left<'_> {
    fn drop(&mut self) {
        remove_left("lxc.pivot");
        let within = self.0.strip_prefix("/").unwrap_or(self.0);
        let _ = fs::remove_dir_all(Path::new("/run/lxc/lock").join(within));
    }
}

/// A container that runs a script; containers made one after the other share a root.
fn execute(dir: &Path, name: &str, at: usize, script: &str) -> Command {
    let root = dir.join(format!("root{at}"));
    for within in ["dev", "proc", "sys", "tmp"] {
        fs::create_dir_all(root.join(within)).expect("a directory");
    }
    let file = dir.join(format!("settings{at}"));
    fs::write(&file, settings(&root)).expect("settings");
    let mut execute = Command::new("lxc-execute");
    execute.arg("--lxcpath").arg(dir).arg("--rcfile").arg(file);
    execute.args(["--name", name, "--logfile"]).arg(dir.join("log"));
    execute.args(["--", "/bin/sh", "-c", script]);
    execute
}

#[test]
fn brief_containers_of_lxc_are_charged_by_their_names() {
    if !rustix::process::geteuid().is_root() || !is_here("lxc-execute", "lxc") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let containers = tempfile::tempdir().expect("a directory");
    let _left = Left(containers.path());
    let name = format!("exactop-lxc-tried-{}", std::process::id());
    let tried = execute(containers.path(), &name, 0, ":").output();
    if !tried.expect("it starts").status.success() {
        return eprintln!("left out: LXC makes no containers here");
    }
    let look = ["--json", "--by", "container", "--source", "ledger", "-d", "0.5"];
    let watching = Watching::start(dir.path(), &look);
    let told = each_of(some(), |n, at| {
        let name = format!("exactop-lxc-{}-{n}", std::process::id());
        let spun_ns = spun_ns(&name, execute(containers.path(), &name, at, SPINS));
        (name, spun_ns)
    });
    watching.settle();
    assert_charged(&told, &by_name(&watching.stop()));
}
