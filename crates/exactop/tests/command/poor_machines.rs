//! Restricted machines and users: no privileges, namespaces, hidden processes, full disks, and very
//! many processes. On the real /proc.

use crate::helpers::processes::Load;
use crate::helpers::run::{command, copied, done, without_ledger, Done};
use exactop_testkit::wait;
use exactop_workloads::workloads::Sleepers;
use serde_json::Value;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The user nobody on most systems.
const NOBODY: u32 = 65534;

/// The program at a path that every user can reach.
struct Reachable {
    _home: TempDir,
    program: PathBuf,
}

impl Reachable {
    fn new() -> Reachable {
        let home = tempfile::tempdir().expect("a temporary directory");
        fs::set_permissions(home.path(), Permissions::from_mode(0o755)).expect("permissions");
        let copy = home.path().join("exactop");
        copied(&copy);
        Reachable { _home: home, program: copy }
    }

    /// Runs without any privileges.
    fn unprivileged(&self, args: &[&str]) -> Done {
        let mut command = Command::new(&self.program);
        command.args(args).stdin(Stdio::null());
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        done(command)
    }

    /// Runs a line of shell in namespaces of its own; `{}` in it is the program.
    fn apart(&self, unshare: &[&str], line: &str) -> Done {
        let mut command = Command::new("unshare");
        let line = line.replace("{}", &self.program.display().to_string());
        command.args(unshare).args(["sh", "-c", &line]).stdin(Stdio::null());
        done(command)
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Only root makes namespaces and can run these tests.
fn can_unshare() -> bool {
    if !is_root() {
        eprintln!("left out: making namespaces needs root");
    }
    is_root()
}

fn window(text: &str) -> Value {
    serde_json::from_str(text).expect("one window as JSON")
}

/// A window of /proc that names the reason in one line. Returns its unnamed time in ns, too.
fn fallen_back(done: Done, why: &str) -> (Value, i64) {
    let window = window(&done.fine());
    let source = &window["source"];
    assert_eq!(source["name"], "procfs");
    let reason = source["reason"].as_str().expect("a reason");
    assert!(reason.contains(why) && !reason.contains('\n'), "{reason}");
    let unnamed = window["books"]["unnamed_ns"].as_i64().expect("unnamed_ns");
    (window, unnamed)
}

/// A failed choice of source: one line, and the exit code of a failure.
fn refused(done: &Done, why: &str) {
    done.refused(1, why);
    assert!(done.err.starts_with("exactop: "), "{}", done.err);
    assert_eq!(done.err.matches(": run ").count(), 1, "one remedy: {}", done.err);
}

const JSON: [&str; 4] = ["--json", "--once", "-d", "0.3"];

#[test]
fn without_privileges_the_source_is_proc_and_the_reason_is_named() {
    let here = Reachable::new();
    let why = if cfg!(feature = "bpf") { "not permitted" } else { "without the BPF ledger" };
    let (window, _) = fallen_back(here.unprivileged(&JSON), why);
    assert!(window["tasks"].as_array().expect("rows").len() > 1);
    let text = here.unprivileged(&["--once", "-d", "0.1"]).fine();
    let lines: Vec<&str> = text.lines().filter(|l| l.contains(why)).collect();
    assert_eq!(lines.len(), 1, "{text}");
    refused(&here.unprivileged(&["--once", "--source", "ledger"]), why);
    refused(&here.unprivileged(&["--once", "--source", "snapshot"]), why);
    refused(&here.unprivileged(&["--once", "--source", "taskstats"]), "CAP_NET_ADMIN");
    let doctor = here.unprivileged(&["doctor"]);
    assert_eq!((doctor.code, doctor.err.as_str()), (Some(1), ""));
    assert!(doctor.out.contains(why), "{}", doctor.out);
}

#[test]
fn in_a_pid_namespace_the_source_is_proc_and_the_reason_is_named() {
    if !can_unshare() || !cfg!(feature = "bpf") {
        return;
    }
    let here = Reachable::new();
    let own = ["--pid", "--fork", "--mount-proc"];
    let run = |args: &str| here.apart(&own, &format!("exec {{}} {args}"));
    let (window, _) = fallen_back(run("--json --once -d 0.3"), "PID namespace");
    assert_eq!(window["tasks"].as_array().expect("rows").len(), 1, "it is alone there");
    refused(&run("--once --source ledger"), "PID namespace");
}

/// The BPF programs read the machine's clock and exactop its own, so their figures could not be
/// compared.
#[test]
fn in_a_time_namespace_with_another_clock_nothing_that_reads_the_kernels_clock_runs() {
    if !can_unshare() || !cfg!(feature = "bpf") || !Path::new("/proc/self/ns/time").exists() {
        return;
    }
    let here = Reachable::new();
    let own = ["--fork", "-T", "--monotonic", "100000"];
    for args in [
        "syscalls --json 0.1 1",
        "waits --json 0.1 1",
        "wakeups --json 0.1 1",
        "trace -o out -d 0.1",
        "--once --source ledger",
        "--once --source snapshot",
    ] {
        let done = here.apart(&own, &format!("cd $(dirname {{}}) && exec {{}} {args}"));
        done.refused(1, "is off the machine's by 100000 s 0 ns");
    }
}

#[test]
fn hidden_processes_are_in_the_unnamed_account() {
    if !can_unshare() {
        return;
    }
    let here = Reachable::new();
    let _busy = Load::shell("while :; do :; done");
    let line = format!(
        "mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid={NOBODY} --regid={NOBODY} \
         --clear-groups {{}} --json --once -d 1 --source procfs"
    );
    let window = window(&here.apart(&["--mount"], &line).fine());
    let rows = window["tasks"].as_array().expect("rows");
    assert!(rows.iter().all(|r| r["uid"] == NOBODY), "only its own: {rows:?}");
    let ns = |name: &str| window["books"][name].as_i64().expect("a figure");
    assert!(ns("unnamed_ns") > ns("tasks_ns"), "{}", window["books"]);
}

#[test]
fn windows_on_a_full_disk_are_an_error() {
    for format in ["-b", "--json", "--csv"] {
        let mut command = command(&[format, "--once", "-d", "0.05", "--source", "procfs"]);
        command.stdout(File::options().write(true).open("/dev/full").expect("/dev/full"));
        let done = done(command);
        assert_eq!((done.code, done.err.lines().count()), (Some(1), 1), "{format}: {}", done.err);
        assert!(done.err.contains("No space left"), "{format}: {}", done.err);
    }
}

/// Very many processes start and exit across the windows' boundaries.
#[test]
fn processes_that_vanish_between_listing_and_reading_are_no_error() {
    let _storm =
        Load::shell("while :; do for n in 1 2 3 4 5 6 7 8; do /bin/true & done; wait; done");
    let args = ["--json", "-H", "-c", "-n", "20", "-d", "0.02", "--source", "procfs"];
    let text = done(command(&args)).fine();
    assert_eq!(text.lines().map(window).count(), 20);
}

/// Every task has a row in every source, and the books close as well as with few tasks.
fn many(processes: usize) {
    let sleepers = Sleepers::start(processes).expect("sleepers");
    let source = |name: &str| {
        let args = ["--json", "--once", "-d", "1", "--columns", "pid,s,comm,res", "--source", name];
        let window = window(&done(command(&args)).fine());
        let rows = window["tasks"].as_array().expect("rows");
        let pids = sleepers.pids();
        let shown: std::collections::HashSet<u64> =
            rows.iter().filter_map(|r| r["pid"].as_u64()).collect();
        let missing = pids.iter().filter(|pid| !shown.contains(&u64::from(**pid))).count();
        assert_eq!(missing, 0, "{name} shows {} of {processes}", processes - missing);
        window
    };
    source("procfs");
    if cfg!(feature = "bpf") && !without_ledger() {
        // Other load on the machine may make a window inexact, and the window says so.
        wait::until("an exact window", || {
            let window = source("ledger");
            let is_late = window["window"]["errors"]["late"] != 0;
            assert!(is_late || window["window"]["residual_ns"] == 0, "{}", window["window"]);
            println!("{}", window["window"]);
            window["window"]["exact"] == true
        });
    }
}

#[test]
fn five_thousand_processes() {
    many(5_000);
}

#[test]
#[ignore = "takes 3 GB of the kernel's memory"]
fn thirty_thousand_processes() {
    many(30_000);
}
