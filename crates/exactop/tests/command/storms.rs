//! A session during storms of births and exits: its rows add up to its books in every window, and
//! afterwards no row of an exited task is left.

use crate::helpers::run::{command, without_ledger};
use exactop_testkit::wait;
use serde_json::Value;
use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{channel, Receiver};
use std::time::Instant;

/// Length of each storm; `EXACTOP_TEST_STORM_SECONDS` overrides it.
const STORM_SECONDS: u64 = 8;

/// Windows of a second, read as they come so that the session never blocks.
struct Session {
    process: Child,
    windows: Receiver<Value>,
}

impl Session {
    fn start() -> Session {
        let args = ["--json", "-d", "1", "--columns", "pid,s,comm,run_ns"];
        let process = command(&args).stdout(Stdio::piped()).spawn();
        let mut process = process.expect("the command starts");
        let out = BufReader::new(process.stdout.take().expect("a pipe"));
        let (sender, windows) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let window = serde_json::from_str(&line).expect("JSON");
                if sender.send(window).is_err() {
                    return;
                }
            }
        });
        Session { process, windows }
    }

    /// The next window, after checking its rows against its books.
    fn window(&self) -> Value {
        let window = self.windows.recv_timeout(wait::LIMIT).expect("a window within two minutes");
        let sum = |list: &str| rows(&window, list).filter_map(|row| row["run_ns"].as_u64()).sum();
        let (tasks, exited): (u64, u64) = (sum("tasks"), sum("exited"));
        let books = &window["books"];
        let account = |name: &str| books[name].as_u64().expect("ns");
        let named = account("tasks_ns") + account("exited_ns");
        assert_eq!(tasks + exited, named, "rows and books of {}", window["window"]);
        assert_eq!(window["window"]["unlisted_ns"], 0, "{}", window["window"]);
        window
    }

    /// Closes windows while `storm` runs, which ends with this exit code after thousands of exits.
    fn beside(&self, mut storm: Child, code: i32) {
        let mut exited = 0;
        loop {
            let window = self.window();
            exited += window["system"]["exited"].as_u64().expect("a count");
            if let Some(status) = storm.try_wait().expect("a child") {
                assert_eq!(status.code(), Some(code), "the storm");
                assert!(exited >= 1_000, "a storm of {exited} exits");
                return;
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn rows<'a>(window: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    window[list].as_array().expect("rows").iter()
}

/// A control group for at most 20,000 tasks, removed on drop.
struct Group(PathBuf);

impl Group {
    fn make() -> Group {
        let name = format!("exactop-test-storms-{}", std::process::id());
        let roots = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].map(Path::new);
        let root = roots.into_iter().find(|root| root.join("cgroup.procs").exists());
        let root = root.expect("a hierarchy of control groups with the controller pids");
        if root.join("cgroup.subtree_control").exists() {
            fs::write(root.join("cgroup.subtree_control"), "+pids").expect("the controller pids");
        }
        let group = Group(root.join(name));
        fs::create_dir(&group.0).expect("a control group");
        fs::write(group.0.join("pids.max"), "20000").expect("a limit");
        group
    }

    /// A command that runs in it.
    fn run(&self, line: &str) -> Child {
        let script = format!("echo $$ > {}/cgroup.procs && exec {line}", self.0.display());
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &script]).stdout(Stdio::null()).stderr(Stdio::null());
        shell.spawn().expect("a shell")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        wait::until("an empty control group", || fs::remove_dir(&self.0).is_ok());
    }
}

/// Number of zombies by ps(1).
fn zombies_of_ps() -> u64 {
    let ps = Command::new("ps").args(["-eo", "stat="]).output().expect("ps(1)");
    let text = String::from_utf8(ps.stdout).expect("UTF-8");
    text.lines().filter(|line| line.starts_with('Z')).count() as u64
}

/// Processes of a window that /proc lacks.
fn not_in_proc(window: &Value) -> HashSet<u64> {
    let pids = rows(window, "tasks").filter_map(|row| row["pid"].as_u64());
    pids.filter(|pid| !Path::new(&format!("/proc/{pid}")).exists()).collect()
}

/// Waits for a window after the storm with as many zombies as ps counts, and without a row that
/// /proc has lacked since the previous window.
fn settles(session: &Session) {
    let mut ended = not_in_proc(&session.window());
    let mut last = String::new();
    let begun = Instant::now();
    while begun.elapsed() < wait::LIMIT {
        let window = session.window();
        let shown = window["system"]["processes"]["zombie"].as_u64().expect("a count");
        let counted = zombies_of_ps();
        let still: HashSet<u64> =
            rows(&window, "tasks").filter_map(|r| r["pid"].as_u64()).collect();
        let ghosts = ended.intersection(&still).count();
        if shown.abs_diff(counted) <= 1 && ghosts == 0 {
            return;
        }
        last =
            format!("{shown} zombies, {counted} by ps, {ghosts} rows of processes that are gone");
        ended = not_in_proc(&window);
    }
    panic!("waited without effect for rows that are all in /proc; there are {last}");
}

mod alone {
    use super::*;

    #[test]
    fn after_a_storm_zombies_match_ps_and_no_row_is_of_an_exited_process() {
        if without_ledger() {
            return;
        }
        let seconds = std::env::var("EXACTOP_TEST_STORM_SECONDS");
        let seconds: u64 = seconds.map_or(STORM_SECONDS, |text| text.parse().expect("seconds"));
        let session = Session::start();
        session.window();
        let group = Group::make();
        let forks = "while :; do /bin/true; done";
        // timeout(1) exits with 124.
        session.beside(group.run(&format!("timeout {seconds} sh -c '{forks} & {forks}'")), 124);
        settles(&session);
        session.beside(group.run(&format!("stress-ng --vforkmany 4 --timeout {seconds}s")), 0);
        settles(&session);
    }
}
