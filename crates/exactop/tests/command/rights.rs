//! Rights of a running exactop, compared with the table of docs/explanation/security.md.

use crate::helpers::processes::Load;
use crate::helpers::rights::{documented, each_thread_has, field, of};
#[cfg(feature = "bpf")]
use crate::helpers::run::without_ledger;
use crate::helpers::run::{command, run};
use exactop_testkit::wait;
use rustix::fd::OwnedFd;
use rustix::pipe::{fcntl_setpipe_size, pipe_with, PipeFlags};
use serde_json::Value;
#[cfg(feature = "bpf")]
use std::fs;
use std::process::Stdio;

/// A command whose first output blocks: the pipe is full.
struct Stuck {
    load: Load,
    _pipe: OwnedFd,
}

impl Stuck {
    fn start(words: &[&str]) -> Stuck {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC).expect("a pipe");
        fcntl_setpipe_size(&write, 4096).expect("a small pipe");
        rustix::io::write(&write, &[b'x'; 4096]).expect("room for a page");
        let child = command(words).stdout(write).stderr(Stdio::null()).spawn().expect("exactop");
        Stuck { load: Load(child), _pipe: read }
    }

    fn pid(&self) -> String {
        self.load.pid().to_string()
    }

    /// Waits until it has installed its filters, the last right that it gives up.
    fn await_fence(&mut self, words: &[&str]) {
        wait::until("a fence", || {
            if let Some(status) = self.load.0.try_wait().expect("wait") {
                panic!("{words:?} ended: {status}");
            }
            field(&self.load.pid().to_string(), "Seccomp:") == "2"
        });
    }
}

/// Starts a command, and compares each of its threads with the document.
fn check(words: &[&str], command: &str, source: &str) {
    let mut stuck = Stuck::start(words);
    stuck.await_fence(words);
    let expected = documented(command, source);
    let pid = stuck.pid();
    assert_eq!(of(&pid), expected, "{words:?}");
    assert!(each_thread_has(&pid, expected) > 0, "{words:?}");
}

#[test]
fn commands_without_a_ledger_keep_the_documented_rights() {
    check(&["-b", "--source", "procfs", "-d", "0.1"], "`-b`", "procfs");
    check(&["--csv", "--source", "procfs", "-d", "0.1"], "`-b`", "procfs");
    check(&["ptop", "--source", "procfs", "0.1"], "`ptop`", "procfs");
    check(&["--once", "--source", "procfs"], "`--once`", "procfs");
    check(&["web", "--source", "procfs", "--listen", "127.0.0.1:0"], "`web`", "procfs");
    check(&["columns"], "`columns`", "");
    check(&["man"], "`man`", "");
    check(&["completions", "bash"], "`completions`", "");
}

#[test]
#[cfg(feature = "bpf")]
fn commands_with_a_source_of_root_keep_the_documented_rights() {
    if without_ledger() {
        return;
    }
    let trace = tempfile::tempdir().expect("a directory");
    let trace = trace.path().join("trace");
    check(&["--json", "-d", "0.1"], "`--json`", "ledger");
    check(&["-b", "--source", "snapshot", "-d", "0.1"], "`-b`", "snapshot");
    check(&["-b", "--source", "taskstats", "-d", "0.1"], "`-b`", "taskstats");
    check(&["prstat", "-m", "1"], "`prstat`", "ledger");
    check(&["syscalls", "0.1"], "`syscalls`", "");
    check(&["wakeups", "0.1"], "`wakeups`", "");
    check(&["waits", "0.1"], "`waits`", "");
    check(&["moves", "0.1"], "`moves`", "");
    check(&["owed", "0.1"], "`owed`", "");
    check(&["web", "--token", "--listen", "127.0.0.1:0"], "`web`", "ledger");
    let log = tempfile::tempdir().expect("a directory");
    check(&["record", "-d", "0.2", "--dir", &log.path().to_string_lossy()], "`record`", "ledger");
    check(&["blame", "0.1"], "`blame`", "");
    check(&["cgroups", "0.1"], "`cgroups`", "");
    check(&["trace", "-d", "0.1", "-o", &trace.to_string_lossy()], "`trace`", "");
    check(&["doctor"], "`doctor`", "");
}

#[test]
fn commands_that_read_recordings_keep_the_documented_rights() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("UTF-8").to_string();
    let (log, tables) = (path("log"), path("tables"));
    run(&["--json", "-n", "3", "-d", "0.1", "--source", "procfs", "--record", &log]).fine();
    run(&["export", "parquet", &log, "-o", &tables]);
    for (words, command) in [
        (&["replay", &log, "-b"][..], "`replay -b`"),
        (&["report", &log], "`report`"),
        (&["diff", &log, &log], "`diff`"),
        (&["record", "list", &log], "`record list`"),
        (&["record", "verify", &log], "`record verify`"),
        (&["export", "parquet", &log, "-o", &path("others")], "`export`"),
        (&["fleet", "check", "--from", &tables], "`fleet`"),
        (&["fleet", "report", "--from", &tables], "`fleet`"),
        (&["web", "--replay", &log, "--listen", "127.0.0.1:0"], "`web`"),
    ] {
        check(words, command, "");
    }
}

#[test]
#[cfg(feature = "bpf")]
fn a_command_of_run_has_the_rights_that_exactop_was_started_with() {
    if without_ledger() {
        return;
    }
    let status = || fs::read_to_string("/proc/self/status").expect("a status file");
    let rights = |text: &str| -> Vec<String> {
        let wanted = ["CapPrm:", "CapEff:", "CapBnd:", "NoNewPrivs:", "Seccomp:"];
        let is_wanted = |line: &&str| wanted.iter().any(|name| line.starts_with(name));
        text.lines().filter(is_wanted).map(String::from).collect()
    };
    let ran = run(&["run", "-q", "--", "cat", "/proc/self/status"]).fine();
    assert_eq!(rights(&ran), rights(&status()));
}

#[test]
fn doctor_reports_the_dropped_rights() {
    let told: Value = serde_json::from_str(&run(&["doctor", "--json"]).out).expect("JSON");
    for id in ["capabilities", "no_new_privs", "landlock", "seccomp"] {
        let list = told["capabilities"].as_array().expect("a list");
        let found = list.iter().find(|c| c["id"] == id).unwrap_or_else(|| panic!("no {id}"));
        let known = ["available", "degraded", "missing"];
        assert!(known.iter().any(|status| found["status"] == *status), "{found}");
        assert_eq!(found["loses"].is_null(), found["status"] == "available", "{found}");
    }
}
