//! On-demand figures: one set of programs for all readers, and for each reader only what it may
//! see.

use crate::daemon::{bpf_files, parsed, Daemon};
use crate::helpers::processes::Load;
use crate::helpers::rights::{documented, field, of};
use crate::helpers::run::{done, run, without_ledger};
use exactop_testkit::wait;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::os::unix::fs::MetadataExt;
use std::process::{Child, ChildStdout, Command, Stdio};

/// The plain reader's uid.
const NOBODY: u32 = 65534;

fn begun(mut reader: Command) -> Child {
    reader.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a reader")
}

fn ended(reader: Child) -> Vec<Value> {
    let output = reader.wait_with_output().expect("an end");
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), complaint.as_str()), (Some(0), ""));
    parsed(&String::from_utf8(output.stdout).expect("UTF-8"))
}

fn rows<'a>(window: &'a Value, table: &str) -> &'a Vec<Value> {
    window[table].as_array().expect("rows")
}

/// A reader that looks until it is dropped, and the windows it printed.
struct Looking {
    reader: Load,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Looking {
    fn start(mut reader: Command) -> Looking {
        let mut reader = Load(reader.stdout(Stdio::piped()).spawn().expect("a reader"));
        let lines = BufReader::new(reader.0.stdout.take().expect("a pipe")).lines();
        Looking { reader, lines }
    }

    fn window(&mut self) -> Value {
        let line = self.lines.next().expect("a window").expect("UTF-8");
        serde_json::from_str(&line).expect("JSON")
    }
}

#[test]
fn two_readers_share_programs_that_end_with_the_last_reader() {
    if without_ledger() {
        return;
    }
    let daemon = Daemon::start(&[]);
    let pid = daemon.load.pid();
    let before = bpf_files(pid);
    let mut first = Looking::start(daemon.reader(&["syscalls", "--json", "0.3"]));
    assert!(rows(&first.window(), "calls").iter().all(|row| row["pid"].is_null()));
    let of_one = bpf_files(pid);
    assert!(of_one > before, "{of_one} after {before}");
    let by_process = ["syscalls", "--by", "process", "--json", "0.2"];
    let mut second = Looking::start(daemon.reader(&by_process));
    let windows: Vec<Value> = (0..5).map(|_| second.window()).collect();
    assert_eq!(bpf_files(pid), of_one, "for two as for one");
    first.window();
    for reader in [&first, &second] {
        assert_eq!(bpf_files(reader.reader.pid()), 0, "a reader loads nothing");
    }
    for window in &windows {
        let calls = rows(window, "calls");
        assert!(calls.iter().any(|row| row["calls"].as_u64() > Some(0)), "{window}");
        assert!(calls.iter().all(|row| row["pid"].is_u64() && row["tid"].is_null()), "{window}");
        assert_eq!(window["by"], "process");
    }
    for pair in windows.windows(2) {
        assert_eq!(pair[0]["window"]["t1_ns"], pair[1]["window"]["t0_ns"], "no instant is lost");
    }
    drop(first);
    second.window();
    assert_eq!(bpf_files(pid), of_one, "one still looks");
    drop(second);
    wait::until("nothing is attached", || bpf_files(pid) == before);
    assert_eq!(daemon.said(), "");
}

#[test]
fn waits_and_wake_ups_are_of_the_requested_processes() {
    if without_ledger() {
        return;
    }
    let load = Load::shell("while :; do sleep 0.01; done");
    let shell = load.pid().to_string();
    let daemon = Daemon::start(&[]);
    let before = bpf_files(daemon.load.pid());
    let waits = begun(daemon.reader(&["waits", "-p", &shell, "--json", "0.5", "3"]));
    let wakeups = begun(daemon.reader(&["wakeups", "-p", &shell, "--json", "0.5", "3"]));
    let moves = begun(daemon.reader(&["moves", "-p", &shell, "--json", "0.5", "3"]));
    for window in ended(waits) {
        let threads = rows(&window, "rows");
        assert_eq!(threads.len(), 1, "{window}");
        assert_eq!(threads[0]["pid"], load.pid());
    }
    for window in ended(wakeups) {
        let edges = rows(&window, "edges");
        assert!(!edges.is_empty(), "who exits wakes the shell: {window}");
        for edge in edges {
            let ends = [&edge["waker"]["pid"], &edge["wakee"]["pid"]];
            assert!(ends.contains(&&load.pid().into()), "{edge}");
        }
    }
    for window in ended(moves) {
        assert!(window["migrations"].is_u64(), "{window}");
        assert!(window["by_kernel"].is_null(), "what is missing is everyone's: {window}");
        assert!(rows(&window, "rows").iter().all(|row| row["pid"] == load.pid()), "{window}");
    }
    wait::until("nothing is attached", || bpf_files(daemon.load.pid()) == before);
    let socket = daemon.socket();
    let socket = socket.to_str().expect("UTF-8");
    run(&["wakeups", "--work-us", "5", "--source", "daemon", "--socket", socket, "1", "1"])
        .refused(2, "--work-us");
}

#[test]
fn a_plain_user_gets_only_own_processes() {
    if without_ledger() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return eprintln!("left out: only root can change its user");
    }
    let daemon = Daemon::of_group("nogroup");
    let theirs = |words: &[&str]| parsed(&done(daemon.plain_reader(words)).fine());
    let roots = Load::shell("while :; do read x </proc/self/comm; done");
    let mut own = 0;
    for window in theirs(&["syscalls", "--by", "process", "--json", "0.5", "3"]) {
        for row in rows(&window, "calls") {
            let of = fs::metadata(format!("/proc/{}", row["pid"])).map(|files| files.uid());
            assert!(of.as_ref().map_or(true, |&uid| uid == NOBODY), "{of:?}: {row}");
            assert_ne!(row["pid"], roots.pid(), "{row}");
            own += u32::from(row["comm"] == "exactop");
        }
    }
    assert!(own > 0, "the reader itself");
    for window in theirs(&["waits", "--json", "0.5", "2"]) {
        let mine = rows(&window, "rows").iter().all(|row| row["pid"] != roots.pid());
        assert!(mine, "{window}");
    }
}

#[test]
fn readers_give_the_daemon_no_more_rights() {
    if without_ledger() {
        return;
    }
    let daemon = Daemon::start(&[]);
    let expected = documented("`daemon`", "ledger");
    let before = bpf_files(daemon.load.pid());
    let reader = begun(daemon.reader(&["syscalls", "--json", "0.5", "6"]));
    let pid = daemon.load.pid().to_string();
    let threads = || {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("threads");
        tasks.map(|task| format!("{pid}/task/{}", task.expect("a thread").file_name().display()))
    };
    let named = |thread: &String| {
        fs::read_to_string(format!("/proc/{thread}/comm")).is_ok_and(|comm| comm == "on demand\n")
    };
    let comm = |thread: &String| fs::read_to_string(format!("/proc/{thread}/comm"));
    let loads = |thread: &String| comm(thread).is_ok_and(|comm| comm == "exactop-loading\n");
    // Threads that load programs end afterwards.
    wait::until("the thread that attaches", || {
        let all: Vec<String> = threads().collect();
        all.iter().any(named) && !all.iter().any(loads) && bpf_files(daemon.load.pid()) > before
    });
    for thread in threads() {
        assert_eq!(of(&thread).permitted & !expected.permitted, 0, "thread {thread}");
        assert_eq!(field(&thread, "NoNewPrivs:"), "1");
        assert_eq!(field(&thread, "Seccomp:"), "2");
    }
    let reader_pid = reader.id().to_string();
    let kept = documented("`-b`", "procfs");
    // It attaches no programs.
    wait::until("the reader gives up its rights", || {
        of(&reader_pid).permitted & !kept.permitted == 0
    });
    assert_eq!(ended(reader).len(), 6);
}
