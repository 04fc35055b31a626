//! Little memory, few open files: a fallback source, or one line that names the failure.

use crate::helpers::run::{command, done, without_ledger, Done};
use exactop_testkit::wait;
use rustix::process::{setrlimit, Resource, Rlimit};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Two tests may need the same limit at a time.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A control group with a memory limit; `None`: none can be made.
struct Group(PathBuf);

impl Group {
    fn of_mib(mib: u64) -> Option<Group> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("exactop-test-memory-{}-{number}", std::process::id());
        for (root, file) in
            [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")]
        {
            let directory = Path::new(root).join(&name);
            // With version 1 the second root is an ordinary file system.
            let is_there = Path::new(root).join("cgroup.procs").exists();
            if !is_there || fs::create_dir(&directory).is_err() {
                continue;
            }
            let group = Group(directory);
            if fs::write(group.0.join(file), (mib << 20).to_string()).is_ok() {
                return Some(group);
            }
        }
        eprintln!("left out: no control group with a limit of memory can be made");
        None
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The kernel takes a moment to release charged memory.
        let is_gone = || fs::remove_dir(&self.0).is_ok() || !self.0.exists();
        match std::thread::panicking() {
            true => drop(fs::remove_dir(&self.0)),
            false => wait::until("an empty group", is_gone),
        }
    }
}

/// One window, from inside the group.
fn inside(group: &Group, args: &[&str]) -> Done {
    let procs = group.0.join("cgroup.procs");
    let inner = command(args);
    let mut shell = Command::new("sh");
    shell.args(["-c", "echo $$ >\"$0\"; exec \"$@\""]).arg(procs);
    shell.arg(inner.get_program()).args(inner.get_args());
    done(shell)
}

#[test]
fn with_little_memory_a_smaller_source_opens_and_no_process_is_killed() {
    // The program's pages are charged to the first process that reads them, so read them outside of
    // the group first.
    done(command(&["--json", "-n", "1", "-d", "0.2"]));
    for mib in [16, 20, 24, 28, 32, 36, 40, 44, 48, 56, 64, 72, 80, 96] {
        let Some(group) = Group::of_mib(mib) else { return };
        let done = inside(&group, &["--json", "-n", "1", "-d", "0.2"]);
        assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{mib} MiB: {}", done.out);
        let window: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
        println!("{mib} MiB: {} {}", window["source"]["name"], window["source"]["reason"]);
    }
}

#[test]
fn the_reason_has_figures() {
    if without_ledger() {
        return;
    }
    let Some(group) = Group::of_mib(32) else { return };
    let done = inside(&group, &["-b", "-n", "1", "-d", "0.2", "--source", "ledger"]);
    assert_eq!((done.code, done.err.lines().count()), (Some(1), 1), "{}", done.err);
    assert!(done.err.contains("MiB of memory and the control group's limit of 32 MiB leaves"));
    let Some(enough) = Group::of_mib(200) else { return };
    let done = inside(&enough, &["-b", "-n", "1", "-d", "0.2", "--source", "ledger"]);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
}

fn with_files(files: u64, args: &[&str]) -> Done {
    let mut process = command(args);
    let limit = Rlimit { current: Some(files), maximum: Some(files) };
    // SAFETY: one system call between fork and exec.
    unsafe { process.pre_exec(move || Ok(setrlimit(Resource::Nofile, limit)?)) };
    done(process)
}

#[test]
fn with_few_open_files_a_smaller_source_opens() {
    for files in (24..=136).step_by(8) {
        let done = with_files(files, &["-b", "-n", "2", "-d", "0.1"]);
        assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{files} files");
    }
}

#[test]
fn with_too_few_open_files_the_error_names_the_failure() {
    for files in [5, 8, 12] {
        let done = with_files(files, &["-b", "-n", "1", "-d", "0.1"]);
        assert_eq!((done.code, done.err.lines().count()), (Some(1), 1), "{files}: {}", done.err);
        assert!(done.err.contains("Too many open files"), "{files}: {}", done.err);
        assert!(!done.err.contains("cannot write the output"), "{files}: {}", done.err);
    }
}

/// A low soft limit has no effect.
#[test]
fn the_soft_limit_is_raised() {
    if without_ledger() {
        return;
    }
    let mut process = command(&["-b", "-n", "1", "-d", "0.1", "--source", "ledger"]);
    let limit = Rlimit { current: Some(24), maximum: Some(1024) };
    // SAFETY: one system call between fork and exec.
    unsafe { process.pre_exec(move || Ok(setrlimit(Resource::Nofile, limit)?)) };
    let done = done(process);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
}
