//! One ledger, whoever looks.

use crate::daemon::{bpf_files, parsed, Daemon};
use crate::helpers::processes::{state, wait_until, Load, STOP};
use crate::helpers::run::{alone, done, run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Stdio;

#[test]
fn readers_with_intervals_of_their_own_share_one_ledger() {
    let Some(_alone) = alone() else { return };
    let _storm = Load::shell("while :; do /bin/true; done");
    let daemon = Daemon::start(&[]);
    let before = bpf_files(daemon.load.pid());
    assert!(before > 10, "{before}");
    // Two that look at the same pace long enough to meet, wherever in a second each of them began.
    let paces = [("0.2", "24"), ("0.2", "24"), ("0.5", "8"), ("1", "8")];
    let readers: Vec<_> = paces
        .iter()
        .map(|(interval, windows)| {
            let mut reader = daemon.reader(&["--json", "-n", windows, "-d", interval]);
            let reader = reader.stdout(Stdio::piped()).stderr(Stdio::piped());
            reader.spawn().expect("a reader")
        })
        .collect();
    wait_until("readers that look", || {
        readers.iter().all(|reader| state(reader.id()) == Some('S'))
    });
    for reader in &readers {
        assert_eq!(bpf_files(reader.id()), 0, "a reader loads nothing");
    }
    assert_eq!(bpf_files(daemon.load.pid()), before, "whoever looks");
    let outputs = readers.into_iter().map(|reader| {
        let output = reader.wait_with_output().expect("an end");
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), complaint.as_str()), (Some(0), ""));
        parsed(&String::from_utf8(output.stdout).expect("UTF-8"))
    });
    let outputs: Vec<Vec<Value>> = outputs.collect();
    for (windows, (_, asked)) in outputs.iter().zip(paces) {
        assert_eq!(windows.len().to_string(), asked);
        for window in windows {
            assert_eq!(window["window"]["residual_ns"], 0);
            assert_ne!(window["window"]["state"], "inexact", "{}", window["window"]);
        }
    }
    // Of the same stretch of time everyone is told the same.
    let mut told: BTreeMap<(u64, u64), &Value> = BTreeMap::new();
    let mut twice = 0;
    for window in outputs.iter().flatten() {
        let ns = |name: &str| window["window"][name].as_u64().expect("a time");
        if let Some(same) = told.insert((ns("t0_ns"), ns("t1_ns")), &window["books"]) {
            assert_eq!(same, &window["books"]);
            twice += 1;
        }
    }
    assert!(twice >= 1, "two looked five times a second");
}

#[test]
fn a_reader_that_stands_still_holds_nobody_up() {
    let Some(_alone) = alone() else { return };
    let daemon = Daemon::start(&[]);
    let mut still = daemon.reader(&["--json", "-d", "0.1"]);
    let still = Load::start(&mut still);
    wait_until("it reads", || state(still.pid()) == Some('S'));
    crate::helpers::processes::send(still.pid(), STOP);
    let windows = daemon.windows(&["-n", "5", "-d", "0.2"]);
    assert_eq!(windows.len(), 5);
}

#[test]
fn a_second_daemon_is_refused_by_the_socket_and_by_the_recording() {
    let Some(_alone) = alone() else { return };
    let daemon = Daemon::start(&[]);
    let (socket, log) = (daemon.socket(), daemon.log());
    let (socket, log) = (socket.to_str().expect("UTF-8"), log.to_str().expect("UTF-8"));
    let other = daemon.path().join("other");
    let other = other.to_str().expect("UTF-8");
    run(&["daemon", "--socket", socket, "--dir", other]).refused(1, "serves");
    let pid = daemon.load.pid().to_string();
    run(&["daemon", "--socket", other, "--dir", log]).refused(1, &pid);
    run(&["record", "--dir", log]).refused(1, &pid);
}

#[test]
fn where_no_daemon_is_that_is_said_in_one_line() {
    let nowhere = ["--source", "daemon", "--socket", "/nonexistent/socket"];
    run(&[&["--json", "-n", "1"], &nowhere[..]].concat())
        .refused(1, "no exactop daemon at /nonexistent/socket");
}

#[test]
fn who_is_in_the_group_reads_without_root_and_others_do_not() {
    let Some(_alone) = alone() else { return };
    if !rustix::process::geteuid().is_root() {
        return eprintln!("left out: only root becomes somebody else");
    }
    for (group, may) in [("nogroup", true), ("tty", false)] {
        let daemon = Daemon::of_group(group);
        let read = done(daemon.plain_reader(&["--json", "-n", "2", "-d", "0.2"]));
        if !may {
            read.refused(1, "the group of its socket may");
            continue;
        }
        let windows = parsed(&read.fine());
        assert_eq!(windows.len(), 2);
        assert_eq!(windows[1]["window"]["residual_ns"], 0);
        let rows = windows[1]["tasks"].as_array().expect("rows");
        let own = daemon.load.pid();
        let there = rows.iter().any(|row| row["pid"] == own);
        assert!(there, "root's daemon is shown to him as /proc shows it");
    }
}
