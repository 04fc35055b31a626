//! Control groups in the daemon's ledger.

use crate::daemon::{bpf_files, parsed, Daemon};
use crate::helpers::processes::Load;
use crate::helpers::run::{command, done, run, without_ledger};
use serde_json::Value;
use std::process::Stdio;

#[test]
fn groups_have_the_ledgers_charges_over_its_windows() {
    if without_ledger() {
        return;
    }
    let _storm = Load::forks();
    let daemon = Daemon::start(&[]);
    let mut reader = daemon.reader(&["cgroups", "--json", "0.5", "4"]);
    let reader = reader.stdout(Stdio::piped()).spawn().expect("a reader");
    assert_eq!(bpf_files(reader.id()), 0, "a reader loads nothing");
    let output = reader.wait_with_output().expect("an end");
    assert!(output.status.success());
    let windows = parsed(&String::from_utf8(output.stdout).expect("UTF-8"));
    assert_eq!(windows.len(), 4);
    let ns = |of: &Value, name: &str| of[name].as_u64().expect("a number");
    for window in &windows {
        assert!(window["no_ledger"].is_null(), "{}", window["no_ledger"]);
        let groups = window["groups"].as_array().expect("groups");
        let root = groups.iter().find(|group| group["path"] == "/").expect("a root");
        let time = &window["window"];
        let most = ns(time, "cpus") * (ns(time, "t1_ns") - ns(time, "t0_ns"));
        // Of the same time to the nanosecond: no more can have run.
        assert!((1..=most).contains(&ns(root, "ledger_run_ns")), "{time}: {root}");
    }
    for pair in windows.windows(2) {
        assert_eq!(pair[0]["window"]["t1_ns"], pair[1]["window"]["t0_ns"], "no instant is lost");
    }
}

#[test]
fn a_plain_user_has_charges_of_groups() {
    if without_ledger() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return eprintln!("left out: only root can change its user");
    }
    let daemon = Daemon::of_group("nogroup");
    let windows = parsed(&done(daemon.plain_reader(&["cgroups", "--json", "0.5", "2"])).fine());
    assert_eq!(windows.len(), 2);
    for window in windows {
        assert!(window["no_ledger"].is_null(), "{}", window["no_ledger"]);
        let groups = window["groups"].as_array().expect("groups");
        assert!(groups[0]["ledger_run_ns"].as_u64() > Some(0), "{}", groups[0]);
    }
}

/// A reader without rights gets the daemon's blame book, and the page counts its pairs.
#[test]
fn a_plain_user_has_the_blame_book() {
    if without_ledger() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return eprintln!("left out: only root can change its user");
    }
    let spin = ["load", "spin", "--threads", "9", "--duration", "600"];
    let _crowd = Load::start(command(&spin).stderr(Stdio::null()).stdout(Stdio::null()));
    let daemon = Daemon::of_group("nogroup");
    let words = ["blame", "--by", "command", "--json", "0.5", "3"];
    let windows = parsed(&done(daemon.plain_reader(&words)).fine());
    assert_eq!(windows.len(), 3);
    for window in &windows {
        assert_eq!(window["blame_residual_ns"], 0, "{window}");
        let rows = window["rows"].as_array().expect("rows");
        let crowd = rows.iter().find(|row| row["victim"] == "exactop").expect("it waits");
        assert!(crowd["lat_ns"].as_i64() > Some(0), "{crowd}");
    }
    for pair in windows.windows(2) {
        assert_eq!(pair[0]["window"]["t1_ns"], pair[1]["window"]["t0_ns"], "no instant is lost");
    }
}

/// The setting turns the book off, and the reader says what to do.
#[test]
fn a_daemon_without_a_blame_book_says_so() {
    if without_ledger() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let config = dir.path().join("config.toml");
    std::fs::write(&config, "[blame]\nenabled = false\n").expect("settings");
    let daemon = Daemon::start(&["--config", config.to_str().expect("UTF-8")]);
    done(daemon.reader(&["blame", "0.2", "1"])).refused(1, "the source keeps no blame book");
}

#[test]
fn groups_of_a_missing_daemon_are_refused() {
    run(&["cgroups", "--source", "daemon", "--socket", "/nonexistent/s", "1", "1"])
        .refused(1, "cannot reach an exactop daemon at /nonexistent/s");
    run(&["cgroups", "--replay", "/nonexistent", "--source", "daemon"]).refused(2, "--replay");
}
