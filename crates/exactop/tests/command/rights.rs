//! Rights of a running exactop, compared with the table of docs/explanation/security.md.

use crate::helpers::processes::Load;
use crate::helpers::rights::{await_threads, documented, each_thread_has, field, of};
#[cfg(feature = "bpf")]
use crate::helpers::run::without_ledger;
use crate::helpers::run::{command, run};
#[cfg(feature = "bpf")]
use crate::run::groups;
use exactop_testkit::wait;
use rustix::fd::OwnedFd;
use rustix::pipe::{fcntl_setpipe_size, pipe_with, PipeFlags};
use serde_json::Value;
#[cfg(feature = "bpf")]
use std::fs;
use std::net::TcpListener;
#[cfg(feature = "bpf")]
use std::path::PathBuf;
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
    check_threads(words, command, source, &[]);
}

/// Same, once it has threads of these names.
fn check_threads(words: &[&str], command: &str, source: &str, names: &[&str]) {
    let mut stuck = Stuck::start(words);
    stuck.await_fence(words);
    let expected = documented(command, source);
    let pid = stuck.pid();
    await_threads(&pid, names);
    assert_eq!(of(&pid), expected, "{words:?}");
    let threads = each_thread_has(&pid, expected);
    assert!(!threads.is_empty(), "{words:?}");
    for name in names {
        assert!(threads.iter().any(|thread| thread == name), "{words:?}: {name}: {threads:?}");
    }
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
    check_threads(&["--json", "-d", "0.1"], "`--json`", "ledger", &["exactop-growth"]);
    check(&["-b", "--source", "snapshot", "-d", "0.1"], "`-b`", "snapshot");
    check(&["-b", "--source", "taskstats", "-d", "0.1"], "`-b`", "taskstats");
    check(&["prstat", "-m", "1"], "`prstat`", "ledger");
    check(&["syscalls", "0.1"], "`syscalls`", "");
    check(&["wakeups", "0.1"], "`wakeups`", "");
    check(&["waits", "0.1"], "`waits`", "");
    check(&["moves", "0.1"], "`moves`", "");
    check(&["switches", "0.1"], "`switches`", "");
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
    // It takes connections into its queue, and answers nothing.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let store = format!("http://{}", silent.local_addr().expect("its address"));
    for (words, command) in [
        (&["replay", &log, "-b"][..], "`replay -b`"),
        (&["report", &log], "`report`"),
        (&["diff", &log, &log], "`diff`"),
        (&["record", "list", &log], "`record list`"),
        (&["record", "verify", &log], "`record verify`"),
        (&["record", "cut", "-t", "1h ago+1h", &log, "-o", &path("part")], "`record cut`"),
        (&["replay", &log, "--html", &path("page.html")], "`replay --html`"),
        (&["export", "parquet", &log, "-o", &path("others")], "`export`"),
        (&["export", "clickhouse", "--to", &store, &log], "`export`"),
        (&["fleet", "check", "--from", &tables], "`fleet`"),
        (&["fleet", "report", "--from", &tables], "`fleet`"),
        (&["web", "--replay", &log, "--listen", "127.0.0.1:0"], "`web`"),
    ] {
        check(words, command, "");
    }
}

/// A control group for a test, removed at the end.
#[cfg(feature = "bpf")]
struct Group(PathBuf);

#[cfg(feature = "bpf")]
impl Group {
    fn new() -> Option<Group> {
        let group = groups()?.join(format!("exactop-test-rights-{}", std::process::id()));
        std::fs::create_dir(&group).ok()?;
        Some(Group(group))
    }

    /// True if it has limits of the cpu controller.
    fn has_limits(&self) -> bool {
        ["cpu.weight", "cpu.shares"].iter().any(|name| self.0.join(name).exists())
    }
}

#[cfg(feature = "bpf")]
impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
#[cfg(feature = "bpf")]
fn a_command_that_sets_limits_keeps_the_documented_rights() {
    let Some(group) = Group::new().filter(Group::has_limits) else {
        return eprintln!("left out: no control group with limits can be made");
    };
    let path = group.0.to_str().expect("UTF-8");
    check(&["cgroups", "set", path, "--weight", "200"], "`cgroups set`", "");
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
