//! Containers made by containerd, with the names that Kubernetes gives.

use super::{assert_charged, bound, by_name, is_here, said, Watching, SPINS};
use exactop_testkit::wait;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

/// A containerd of the test, which keeps its containers where every containerd does.
struct Containerd {
    child: std::process::Child,
    dir: tempfile::TempDir,
    root: tempfile::TempDir,
}

impl Containerd {
    /// `None`: containerd is not installed, or this machine runs one that the test must not
    /// disturb.
    fn start() -> Option<Containerd> {
        if Path::new("/run/containerd/containerd.sock").exists() {
            eprintln!("left out: this machine's own containerd is not to be disturbed");
            return None;
        }
        if !is_here("containerd", "containerd") || !is_here("ctr", "containerd") {
            return None;
        }
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().display();
        let config = format!(
            "version = 2\nroot = \"{path}/root\"\nstate = \"/run/containerd\"\n\
             disabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n[grpc]\naddress = \"{path}/s\"\n"
        );
        fs::write(dir.path().join("config"), config).expect("a configuration");
        let mut containerd = Command::new("containerd");
        containerd.arg("-c").arg(dir.path().join("config"));
        let log = || File::create(dir.path().join("log")).expect("a file");
        let child = containerd.stdout(log()).stderr(log()).spawn().expect("it starts");
        let root = tempfile::tempdir().expect("a root");
        let containerd = Containerd { child, dir, root };
        wait::until("containerd answers", || {
            containerd.ctr("default").arg("version").output().is_ok_and(|o| o.status.success())
        });
        Some(containerd)
    }

    fn ctr(&self, namespace: &str) -> Command {
        let mut ctr = Command::new("ctr");
        ctr.arg("-a").arg(self.dir.path().join("s")).args(["-n", namespace]);
        ctr
    }

    /// Runs a container to its end.
    fn run(&self, namespace: &str, id: &str, options: &[String]) -> u64 {
        let mut ctr = self.ctr(namespace);
        ctr.args(["run", "--rm", "--rootfs"]).args(options);
        for path in bound() {
            ctr.arg("--mount").arg(format!("type=bind,src={path},dst={path},options=rbind:ro"));
        }
        // Into a file: on a busy machine ctr(8) sometimes ends before its pipes are empty.
        let out = tempfile::tempdir().expect("a directory");
        let shared = format!("type=bind,src={},dst=/out,options=rbind:rw", out.path().display());
        ctr.args(["--mount", &shared]).arg(self.root.path());
        ctr.args([id, "/bin/sh", "-c", &format!("{{ {SPINS}; }} >/out/spun")]);
        said(id, ctr);
        let spun = fs::read_to_string(out.path().join("spun")).expect("what the container wrote");
        spun.trim().parse().expect("a figure")
    }
}

impl Drop for Containerd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Options of a Kubernetes container: its names are annotations, the group has UIDs and ids.
fn of_kubernetes(n: usize) -> (String, Vec<String>) {
    let id = format!("{:064x}", 0xc0_ffee_0000 + n);
    let pod = format!("00000000-0000-4000-8000-{n:012x}");
    let annotation = |name: &str, value: String| {
        ["--annotation".into(), format!("io.kubernetes.cri.{name}={value}")]
    };
    let annotations = [
        annotation("container-type", "container".into()),
        annotation("container-name", "app".into()),
        annotation("sandbox-name", format!("web-{n}")),
        annotation("sandbox-namespace", "shop".into()),
    ];
    let group = ["--cgroup".into(), format!("/kubepods/burstable/pod{pod}/{id}")];
    (id, group.into_iter().chain(annotations.into_iter().flatten()).collect())
}

#[test]
fn containerd_containers_have_their_kubernetes_names() {
    let Some(containerd) = Containerd::start() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let look = ["--json", "--by", "container", "--source", "ledger", "-d", "0.5"];
    let watching = Watching::start(dir.path(), &look);
    let mut told = Vec::new();
    for n in 0..10 {
        let (id, options) = of_kubernetes(n);
        told.push((format!("shop/web-{n}/app"), containerd.run("k8s.io", &id, &options)));
        let job = format!("exactop-job-{}-{n}", std::process::id());
        told.push((job.clone(), containerd.run("default", &job, &[])));
    }
    watching.settle();
    let sums = by_name(&watching.stop());
    assert_charged(&told, &sums);
}
