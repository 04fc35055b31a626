//! Containers made by Docker, which keeps their names in its own files.

use super::{assert_charged, bound, by_name, each_of, is_here, remove_left, some, spun_ns};
use super::{Watching, SPINS};
use crate::helpers::processes::{send, TERM};
use exactop_testkit::wait;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command};

/// Docker's default data directory.
const KEPT: &str = "/var/lib/docker";

/// Directories that Docker makes outside of its data directory.
const MADE: [&str; 2] = ["/etc/docker", "/run/docker"];

const IMAGE: &str = "exactop-test";

/// A Docker of the test, which keeps its containers where every Docker does; removed at the end.
struct Docker {
    child: Child,
    dir: tempfile::TempDir,
    /// Further directories that it makes, and whether they were missing before.
    made: [(&'static str, bool); 2],
}

impl Docker {
    /// `None`: Docker is not installed, this machine runs one that the test must not disturb, or it
    /// cannot run here.
    fn start() -> Option<Docker> {
        if !is_here("dockerd", "docker.io") || !is_here("docker", "docker.io") {
            return None;
        }
        // The test made this directory and may remove it.
        if Path::new("/run/docker.sock").exists() || fs::create_dir(KEPT).is_err() {
            eprintln!("left out: this machine's own Docker is not to be disturbed");
            return None;
        }
        let dir = tempfile::tempdir().expect("a directory");
        let made = MADE.map(|path| (path, !Path::new(path).exists()));
        let log = File::create(dir.path().join("log")).expect("a file");
        // dockerd ends together with the test.
        let mut dockerd = Command::new("setpriv");
        dockerd.args(["--pdeathsig", "TERM", "dockerd"]);
        dockerd.args(["--data-root", KEPT, "--storage-driver=vfs", "--bridge=none"]);
        dockerd.args(["--iptables=false", "--ip6tables=false", "--host"]).arg(host(dir.path()));
        dockerd.arg("--exec-root").arg(dir.path().join("run"));
        dockerd.arg("--pidfile").arg(dir.path().join("pid"));
        dockerd.stdout(log.try_clone().expect("a file")).stderr(log);
        let child = dockerd.spawn().expect("it starts");
        let mut docker = Docker { child, dir, made };
        let mut ended = false;
        wait::until("Docker answers, or ends", || {
            ended = docker.child.try_wait().expect("a child").is_some();
            let version = docker.client(&["version"]).output();
            ended || version.is_ok_and(|done| done.status.success())
        });
        if ended {
            let log = fs::read_to_string(docker.dir.path().join("log")).unwrap_or_default();
            let last = log.lines().last().unwrap_or_default();
            eprintln!("left out: Docker does not run here: {last}");
            return None;
        }
        Some(docker)
    }

    fn client(&self, words: &[&str]) -> Command {
        let mut client = Command::new("docker");
        client.arg("--host").arg(host(self.dir.path())).args(words);
        client
    }

    /// Imports an empty image.
    fn import(&self) {
        let archive = self.dir.path().join("empty.tar");
        let mut tar = Command::new("tar");
        tar.args(["--create", "--files-from=/dev/null", "--file"]).arg(&archive);
        assert!(tar.status().expect("tar starts").success());
        let imported = self.client(&["import"]).arg(&archive).arg(IMAGE).output();
        let imported = imported.expect("docker starts");
        let err = String::from_utf8_lossy(&imported.stderr);
        assert!(imported.status.success(), "docker import: {err}");
    }

    /// Runs a container to its end.
    fn run(&self, name: &str) -> u64 {
        let mut run = self.client(&["run", "--rm", "--network=none", "--log-driver=none"]);
        run.args(["--name", name]);
        for path in bound() {
            run.arg(format!("--volume={path}:{path}:ro"));
        }
        run.args([IMAGE, "/bin/sh", "-c", SPINS]);
        spun_ns(name, run)
    }
}

impl Drop for Docker {
    fn drop(&mut self) {
        send(self.child.id(), TERM);
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(KEPT);
        for (path, _) in self.made.iter().filter(|(_, is_ours)| *is_ours) {
            let _ = fs::remove_dir_all(path);
        }
        remove_left("docker");
    }
}

fn host(dir: &Path) -> String {
    format!("unix://{}/socket", dir.display())
}

#[test]
fn brief_docker_containers_are_charged_by_name() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("left out: only root runs Docker");
    }
    // Before exactop starts: it reads Docker's files only if they exist by then.
    let Some(docker) = Docker::start() else { return };
    docker.import();
    let dir = tempfile::tempdir().expect("a directory");
    let look = ["--json", "--by", "container", "--source", "ledger", "-d", "0.5"];
    let watching = Watching::start(dir.path(), &look);
    let told = each_of(some(), |n, _| {
        let name = format!("exactop-docker-{}-{n}", std::process::id());
        let spun_ns = docker.run(&name);
        (name, spun_ns)
    });
    watching.settle();
    assert_charged(&told, &by_name(&watching.stop()));
}
