//! Control groups of `exactop run`: a limit lasts as long as the processes that it limits.

use crate::helpers::processes::{first_line, is_over, send, KILL, TERM};
use crate::helpers::run::{command, done, run};
use crate::run::groups;
use exactop_testkit::wait;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The group that this exactop made.
fn of(dir: &Path, pid: u32) -> Option<PathBuf> {
    let entries = fs::read_dir(dir).expect("groups").flatten();
    let name = format!("exactop-run-{pid}-");
    let ours = |path: &PathBuf| {
        path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(&name))
    };
    entries.map(|entry| entry.path()).find(ours)
}

fn members(group: &Path) -> Vec<u32> {
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// The current quota.
fn quota(group: &Path) -> String {
    let files = ["cpu.max", "cpu.cfs_quota_us"];
    let read = files.iter().find_map(|file| fs::read_to_string(group.join(file)).ok());
    read.expect("a quota")
}

/// An exactop whose command sleeps in a group of its own.
struct Limited {
    run: Child,
    group: PathBuf,
    sleeper: u32,
}

impl Limited {
    fn start(dir: &Path) -> Limited {
        let args = ["run", "-q", "--max", "20%", "--", "sh", "-c", "echo $$; exec sleep 1000"];
        let mut run = command(&args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command starts");
        let line = first_line(run.stdout.take());
        let group = of(dir, run.id()).expect("its group");
        Limited { run, group, sleeper: line.trim().parse().expect("a PID") }
    }

    /// Checks that no process moved it, and that its limit is unchanged.
    fn is_limited(&self, when: &str) {
        assert_eq!(members(&self.group), [self.sleeper], "{when}");
        assert!(quota(&self.group).starts_with("20000"), "{when}");
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _ = self.run.kill();
        let _ = self.run.wait();
        if !is_over(self.sleeper) {
            send(self.sleeper, KILL);
        }
    }
}

fn another() -> Command {
    command(&["run", "-q", "--weight", "50", "true"])
}

/// An exiting process is listed no more, but its group is in use until it is gone.
fn another_removes(group: &Path) {
    wait::until("another run removes the group", || {
        assert_eq!(done(another()).code, Some(0));
        !group.exists()
    });
}

#[test]
fn processes_left_by_a_killed_run_keep_their_limit() {
    let Some(dir) = groups() else { return };
    let mut limited = Limited::start(&dir);
    limited.run.kill().expect("killed");
    limited.run.wait().expect("an end");
    assert_eq!(done(another()).code, Some(0));
    limited.is_limited("after another run");
    send(limited.sleeper, KILL);
    wait::until("the sleeper leaves its group", || members(&limited.group).is_empty());
    another_removes(&limited.group);
}

#[test]
fn a_daemon_left_behind_keeps_its_limit() {
    let Some(dir) = groups() else { return };
    let script = "setsid sleep 1000 >/dev/null 2>&1 & echo $!";
    let first = run(&["run", "-q", "--max", "20%", "--", "sh", "-c", script]);
    let daemon: u32 = first.out.trim().parse().expect("a PID");
    assert_eq!((first.code, first.err.contains("their limits last")), (Some(0), true));
    let group = |pid: u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).expect("groups");
        let path = text.lines().find_map(|line| line.split_once("/exactop-run-"));
        path.map(|(_, name)| dir.join(format!("exactop-run-{name}")))
    };
    let its = group(daemon).expect("a group of ours");
    assert_eq!(done(another()).code, Some(0));
    assert_eq!(group(daemon), Some(its.clone()));
    assert!(quota(&its).starts_with("20000"));
    send(daemon, KILL);
    wait::until("the daemon leaves its group", || members(&its).is_empty());
    another_removes(&its);
}

/// In other namespaces a start time and a PID have other values.
#[test]
fn a_process_of_another_namespace_does_not_count_as_exited() {
    let Some(dir) = groups() else { return };
    let mut limited = Limited::start(&dir);
    for namespace in
        [&["--time", "--boottime", "1000"][..], &["--pid", "--fork", "--mount-proc"], &[]]
    {
        let inner = another();
        let mut outer = Command::new("unshare");
        outer.args(namespace).arg(inner.get_program()).args(inner.get_args()).stdin(Stdio::null());
        let done = done(outer);
        if done.err.contains("unshare") {
            eprintln!("left out: {namespace:?}: {}", done.err);
            continue;
        }
        assert_eq!(done.code, Some(0), "{namespace:?}: {}", done.err);
        limited.is_limited(&format!("after one from {namespace:?}"));
    }
    send(limited.run.id(), TERM);
    assert_eq!(limited.run.wait().expect("an end").code(), Some(143));
    assert!(!limited.group.exists(), "its own exactop removes it");
}
