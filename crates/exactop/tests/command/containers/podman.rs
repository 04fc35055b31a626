//! Containers made by podman, which keeps their names in its storage.

use super::{assert_charged, bound, by_name, each_of, is_here, some, spun_ns, Watching, SPINS};
use std::path::Path;
use std::process::{Command, Stdio};

/// An empty image; removed at the end.
struct Image(String);

impl Image {
    fn import() -> Image {
        let dir = tempfile::tempdir().expect("a directory");
        let archive = dir.path().join("empty.tar");
        let mut tar = Command::new("tar");
        tar.args(["--create", "--files-from=/dev/null", "--file"]).arg(&archive);
        assert!(tar.status().expect("tar starts").success());
        let image = Image(format!("localhost/exactop-test-{}", std::process::id()));
        let imported = podman(&["import", "--quiet"]).arg(&archive).arg(&image.0).output();
        let imported = imported.expect("podman starts");
        let err = String::from_utf8_lossy(&imported.stderr);
        assert!(imported.status.success(), "podman import: {err}");
        image
    }

    /// Runs a container to its end.
    fn run(&self, name: &str) -> u64 {
        let mut podman = podman(&["run", "--rm", "--network=none", "--runtime=runc", "--name"]);
        podman.args([name, "--log-driver=none"]);
        // podman's own limits exceed those that root may set without CAP_SYS_RESOURCE.
        podman.args(["--ulimit=nofile=256:256", "--ulimit=nproc=256:256"]);
        for path in bound() {
            podman.arg(format!("--volume={path}:{path}:ro"));
        }
        podman.args([&self.0, "/bin/sh", "-c", SPINS]);
        spun_ns(name, podman)
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let mut removed = podman(&["rmi", "--force", &self.0]);
        let _ = removed.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// Without systemd podman makes the groups itself.
fn podman(words: &[&str]) -> Command {
    let mut podman = Command::new("podman");
    if !Path::new("/run/systemd/system").exists() {
        podman.args(["--cgroup-manager=cgroupfs", "--events-backend=none"]);
    }
    podman.args(words);
    podman
}

#[test]
fn brief_podman_containers_are_charged_by_name() {
    if !rustix::process::geteuid().is_root() || !is_here("podman", "podman") {
        return;
    }
    // Before exactop starts: it reads podman's storage only if it exists by then.
    let image = Image::import();
    let dir = tempfile::tempdir().expect("a directory");
    let look = ["--json", "--by", "container", "--source", "ledger", "-d", "0.5"];
    let watching = Watching::start(dir.path(), &look);
    let told = each_of(some(), |n, _| {
        let name = format!("exactop-podman-{}-{n}", std::process::id());
        let spun_ns = image.run(&name);
        (name, spun_ns)
    });
    watching.settle();
    assert_charged(&told, &by_name(&watching.stop()));
}
