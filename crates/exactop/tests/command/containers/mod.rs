//! Containers that are gone before anyone looks: each is charged by its name, and all of the tasks'
//! time is in one row or another. A file for each of those who make them, with their own programs.

mod containerd;
mod docker;
mod kept_short;
mod lxc;
mod nspawn;
mod podman;
mod runc;

use crate::helpers::processes::{send, Load, INT};
use crate::helpers::run::{command, run};
use exactop_testkit::wait;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How many brief ones where it takes little to make one.
const CONTAINERS: usize = 200;
/// At a time.
const AT_ONCE: usize = 4;

/// What a container runs: some 50 ms of a CPU, and says how much by the kernel's count of it.
const SPINS: &str = "read a r < /proc/self/schedstat; i=0; while [ $i -lt 60000 ]; do i=$((i+1)); \
                     done; read b r < /proc/self/schedstat; echo $((b-a))";

/// What of this machine a container gets to see: its programs.
fn bound() -> impl Iterator<Item = &'static str> {
    ["/usr", "/bin", "/lib", "/lib64"].into_iter().filter(|path| Path::new(path).exists())
}

/// What came of a program that makes a container and waits for its end; what the container says.
fn said(name: &str, mut made: Command) -> String {
    let done = made.output().expect("the program starts");
    let err = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{name}: {err}");
    String::from_utf8(done.stdout).expect("UTF-8")
}

/// What a container that ran [`SPINS`] says of its own time.
fn spun_ns(name: &str, made: Command) -> u64 {
    said(name, made).trim().parse().expect("a figure")
}

/// How many brief ones where it takes long to make one; EXACTOP_TEST_CONTAINERS says otherwise.
fn some() -> usize {
    let count = std::env::var("EXACTOP_TEST_CONTAINERS").ok();
    count.map_or(24, |count| count.parse().expect("EXACTOP_TEST_CONTAINERS is a number"))
}

/// Has so many made, a few at a time, each by its number and by which of those at a time it is.
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

/// Whether this program of Debian's package is here; how to get it is said.
fn is_here(program: &str, package: &str) -> bool {
    let runs = Command::new(program).arg("--version").stdout(Stdio::null()).status();
    let is_here = runs.is_ok_and(|status| status.success());
    if !is_here {
        eprintln!("left out: no {program} (apt-get install --no-install-recommends {package})");
    }
    is_here
}

/// Takes away a group that a runtime leaves behind at the top of every hierarchy; one with others in it stays.
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

    /// Waits for the end of a window that has begun by now.
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

/// Of all windows; each one's rows are tasks and exited together.
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

/// Every one of them is charged by its name, and nobody by none.
fn assert_charged(told: &[(String, u64)], sums: &Sums) {
    assert!(!told.is_empty());
    for (name, kernel_ns) in told {
        let Some((run_ns, exited)) = sums.get(name) else { panic!("no {name}: {:?}", sums.keys()) };
        // What the container counts of itself is a part of what it used.
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
    assert!(text.contains("the source procfs does not tell"), "{text}");
}
