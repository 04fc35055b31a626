//! One ledger for all readers.

use crate::daemon::{parsed, span, Daemon, Looking};
use crate::helpers::processes::{send, state, Load, STOP};
use crate::helpers::run::{done, run, without_ledger};
use exactop_testkit::wait;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

/// Ids of the programs that a process holds, in files of their own and in links.
fn programs(pid: u32) -> BTreeSet<u32> {
    let files = fs::read_dir(format!("/proc/{pid}/fdinfo")).expect("descriptors").flatten();
    // A descriptor may be closed meanwhile.
    let told = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    let number = |told: String| {
        let line = told.lines().find_map(|line| line.strip_prefix("prog_id:"))?;
        line.trim().parse().ok()
    };
    told.filter_map(number).collect()
}

/// Ids of all programs in the kernel, from bpftool(8); `None`: bpftool is not installed.
fn all_programs() -> Option<BTreeSet<u32>> {
    let listed = Command::new("bpftool").args(["--json", "prog", "show"]).output();
    let Some(listed) = listed.ok().filter(|listed| listed.status.success()) else {
        eprintln!("left out: no bpftool (apt-get install bpftool)");
        return None;
    };
    let listed: Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    let ids = listed.as_array().expect("programs").iter().map(|program| &program["id"]);
    Some(ids.map(|id| id.as_u64().expect("a number") as u32).collect())
}

/// The balance of a window, and the time of each of its processes.
fn content(window: &Value) -> (Value, BTreeSet<(u64, u64, u64)>) {
    let ns = |row: &Value, name: &str| row[name].as_u64().unwrap_or(u64::MAX);
    let rows = ["tasks", "exited"].into_iter().flat_map(|list| window[list].as_array());
    let rows = rows.flatten().filter(|row| row["run_ns"] != 0);
    let rows = rows.map(|row| (ns(row, "pid"), ns(row, "run_ns"), ns(row, "lat_ns")));
    (window["books"].clone(), rows.collect())
}

#[test]
fn twenty_readers_with_intervals_of_their_own_share_one_ledger() {
    if without_ledger() {
        return;
    }
    let storm = Load::forks();
    let daemon = Daemon::start(&[]);
    let before = programs(daemon.load.pid());
    assert!(before.len() > 10, "{before:?}");
    // Two readers of each interval; they read the rows of two processes, and the whole balance.
    let [shell, serves] = [storm.pid(), daemon.load.pid()].map(|pid| pid.to_string());
    let paces = ["0.1", "0.2", "0.3", "0.4", "0.5", "0.7", "1", "1.2", "1.5", "2"];
    let paces = paces.into_iter().chain(paces).enumerate();
    let start = |(n, pace): (usize, &str)| {
        Looking::start(&daemon, &n.to_string(), &["-d", pace, "-p", &shell, "-p", &serves])
    };
    let readers: Vec<Looking> = paces.map(start).collect();
    wait::until("everyone's first window", || readers.iter().all(|reader| reader.count() > 0));
    for reader in &readers {
        assert_eq!(programs(reader.pid()), BTreeSet::new(), "a reader loads nothing");
    }
    let with_all = programs(daemon.load.pid());
    assert_eq!(with_all, before, "readers load no programs");
    if let Some(listed) = all_programs() {
        assert!(listed.is_superset(&with_all), "{with_all:?} of {listed:?}");
    }
    let windows: Vec<usize> = readers.iter().map(Looking::count).collect();
    wait::until("three windows more of each", || {
        readers.iter().zip(&windows).all(|(reader, before)| reader.count() >= before + 3)
    });
    // All readers get the same figures of the same time range.
    let mut spans = BTreeMap::new();
    let (mut twice, mut ran) = (0, 0);
    for window in readers.into_iter().flat_map(Looking::stop) {
        assert_eq!(window["window"]["residual_ns"], 0);
        let (span, told) = (span(&window), content(&window));
        ran += told.1.len();
        match spans.get(&span) {
            Some(same) if *same == told => twice += 1,
            Some(other) => panic!("{span:?}: {told:?}, and {other:?}"),
            None => drop(spans.insert(span, told)),
        }
    }
    assert!(ran > 0, "nobody's row is in any");
    assert!(twice > 0, "no stretch of time of which two were told");
}

#[test]
fn a_stalled_reader_delays_no_other_reader() {
    if without_ledger() {
        return;
    }
    let daemon = Daemon::start(&[]);
    let mut still = daemon.reader(&["--json", "-d", "0.1"]);
    let still = Load::start(&mut still);
    wait::until("a reader", || state(still.pid()) == Some('S'));
    send(still.pid(), STOP);
    let windows = daemon.windows(&["-n", "5", "-d", "0.2"]);
    assert_eq!(windows.len(), 5);
}

#[test]
fn a_second_daemon_is_refused_by_the_socket_and_by_the_recording() {
    if without_ledger() {
        return;
    }
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
fn a_missing_daemon_is_reported_in_one_line() {
    let nowhere = ["--source", "daemon", "--socket", "/nonexistent/socket"];
    run(&[&["--json", "-n", "1"], &nowhere[..]].concat())
        .refused(1, "cannot reach an exactop daemon at /nonexistent/socket");
}

#[test]
fn group_members_read_without_root_and_other_users_cannot() {
    if without_ledger() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return eprintln!("left out: only root can change its user");
    }
    for (group, may) in [("nogroup", true), ("tty", false)] {
        let daemon = Daemon::of_group(group);
        let read = done(daemon.plain_reader(&["--json", "-n", "2", "-d", "0.2"]));
        if !may {
            read.refused(1, "join the group of its socket");
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
