//! Containers that exit before anyone looks: each is charged under its name, and every part of the
//! tasks' time is in some row. One file per container engine, which uses the engine's own programs.

mod containerd;
mod docker;
mod kept_short;
mod lxc;
mod nspawn;
mod podman;
mod runc;

use crate::helpers::processes::{send, Load, INT};
use crate::helpers::run::{command, run, without_ledger};
use exactop_testkit::wait;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Number of brief containers for engines that make them quickly.
const CONTAINERS: usize = 200;
/// Containers at a time.
const AT_ONCE: usize = 4;

/// Script of a container: it uses some 50 ms of a CPU, and prints its use by the kernel's count.
const SPINS: &str = "read a r < /proc/self/schedstat; i=0; while [ $i -lt 60000 ]; do i=$((i+1)); \
                     done; read b r < /proc/self/schedstat; echo $((b-a))";

/// Directories of this machine that a container sees: its programs.
fn bound() -> impl Iterator<Item = &'static str> {
    ["/usr", "/bin", "/lib", "/lib64"].into_iter().filter(|path| Path::new(path).exists())
}

/// Output of a container whose program waits for its end.
fn said(name: &str, mut made: Command) -> String {
    let done = made.output().expect("the program starts");
    let err = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{name}: {err}");
    String::from_utf8(done.stdout).expect("UTF-8")
}

/// Own time that a container with [`SPINS`] prints, ns.
fn spun_ns(name: &str, made: Command) -> u64 {
    said(name, made).trim().parse().expect("a figure")
}

/// Number of brief containers for engines that make them slowly; EXACTOP_TEST_CONTAINERS overrides
/// it.
fn some() -> usize {
    let count = std::env::var("EXACTOP_TEST_CONTAINERS").ok();
    count.map_or(24, |count| count.parse().expect("EXACTOP_TEST_CONTAINERS is a number"))
}

/// Makes `count` containers, a few at a time; `made` gets the number of each, and its lane.
fn each_of<T: Send>(count: usize, made: impl Fn(usize, usize) -> T + Sync) -> Vec<T> {
    let made = &made;
    let in_turn = |first: usize| {
        move || (first..count).step_by(AT_ONCE).map(|n| made(n, first)).collect::<Vec<T>>()
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE).map(|first| scope.spawn(in_turn(first))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    })
}

/// True if the ledger's tests run and this program of a Debian package is installed; else prints why
/// not.
fn is_here(program: &str, package: &str) -> bool {
    if without_ledger() {
        return false;
    }
    let runs = Command::new(program).arg("--version").stdout(Stdio::null()).status();
    let is_here = runs.is_ok_and(|status| status.success());
    if !is_here {
        eprintln!("left out: no {program} (apt-get install --no-install-recommends {package})");
    }
    is_here
}

/// Removes a group that a runtime leaves at the top of every hierarchy, unless it has members.
fn remove_left(name: &str) {
    let top = Path::new("/sys/fs/cgroup");
    let _ = fs::remove_dir(top.join(name));
    for hierarchy in fs::read_dir(top).into_iter().flatten().flatten() {
        let _ = fs::remove_dir(hierarchy.path().join(name));
    }
}

/// An exactop that prints windows into a file until it is stopped.
struct Watching {
    child: Load,
    out: PathBuf,
}

impl Watching {
    fn start(dir: &Path, args: &[&str]) -> Watching {
        let out = dir.join("windows");
        let file = File::create(&out).expect("a file");
        let child = Load(command(args).stdout(file).spawn().expect("the command starts"));
        let watching = Watching { child, out };
        wait::until("the first window", || watching.lines() > 0);
        watching
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.out).expect("a file")
    }

    fn lines(&self) -> usize {
        self.said().lines().count()
    }

    /// Waits for the end of a window that begins after now.
    fn settle(&self) {
        let lines = self.lines();
        wait::until("two windows more", || self.lines() >= lines + 2);
    }

    fn stop(mut self) -> Vec<Value> {
        send(self.child.pid(), INT);
        self.child.0.wait().expect("an end");
        windows(&self.said())
    }
}

fn windows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("no {key} in {value}"))
}

/// CPU time and exits by name.
type Sums = BTreeMap<String, (u64, u64)>;

/// Sums over all windows; each row counts tasks and exited together.
fn by_name(windows: &[Value]) -> Sums {
    let mut sums = Sums::new();
    for window in windows {
        let rows = window["rows"].as_array().expect("rows");
        let all: u64 = rows.iter().map(|row| number(row, "run_ns")).sum();
        let books = &window["books"];
        assert_eq!(all, number(books, "tasks_ns") + number(books, "exited_ns"), "{window}");
        for row in rows {
            let sum = sums.entry(row["name"].as_str().expect("a name").into()).or_default();
            *sum = (sum.0 + number(row, "run_ns"), sum.1 + number(row, "exited_processes"));
        }
    }
    sums
}

/// Checks that every container is charged under its name, and that no time is without a name.
fn assert_charged(told: &[(String, u64)], sums: &Sums) {
    assert!(!told.is_empty());
    for (name, kernel_ns) in told {
        let Some((run_ns, exited)) = sums.get(name) else { panic!("no {name}: {:?}", sums.keys()) };
        // A container's own count is a part of its use.
        assert!(*run_ns as f64 > 0.95 * *kernel_ns as f64, "{name}: {run_ns} of {kernel_ns}");
        assert!(*exited > 0, "{name}");
    }
    assert!(!sums.contains_key("(control group not read)"), "{:?}", sums.keys());
}

#[test]
fn sums_go_with_no_columns_and_need_a_format() {
    run(&["-b", "--by", "unit", "--columns", "pid"]).refused(2, "--columns");
    run(&["-b", "--by", "nation"]).refused(2, "container");
    let root = crate::made_up_proc::tree();
    let text =
        crate::helpers::run::run_on(root.path(), &["-b", "-n", "1", "-d", "0.1", "--by", "unit"]);
    let text = text.fine();
    assert!(text.contains("the source procfs does not report"), "{text}");
}
