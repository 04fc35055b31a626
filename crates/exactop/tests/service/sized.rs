//! Histograms of waits that a daemon keeps: for readers, on its page and in its recording.

use crate::daemon::Daemon;
use crate::helpers::processes::{Load, TERM};
use crate::helpers::run::{run, without_ledger};
use crate::metrics::{any_page, page, port};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

fn daemon(settings: &str) -> (Daemon, u16) {
    let dir = tempfile::tempdir().expect("a directory");
    let config = dir.path().join("config.toml");
    fs::write(&config, settings).expect("settings");
    let (config, port) = (config.to_str().expect("UTF-8").to_string(), port());
    let address = format!("127.0.0.1:{port}");
    (Daemon::start_in(dir, &["--config", &config, "--metrics", &address], None), port)
}

/// Counts are dispatches and sums are waits.
fn closes(window: &Value) {
    assert_eq!(window["hist_residual_ns"], 0, "{window}");
    let rows = window["rows"].as_array().expect("rows");
    assert!(!rows.is_empty(), "{window}");
    for row in rows {
        let sum = |key: &str| -> i64 {
            let of = |kind: &str| row[kind][key].as_array().expect("figures").clone();
            let all = [of("woken"), of("preempted")].concat();
            all.iter().map(|n| n.as_i64().expect("a number")).sum()
        };
        let figure = |key: &str| row[key].as_i64().expect("a number");
        assert_eq!(figure("dispatches"), sum("counts"), "{row}");
        assert_eq!(figure("lat_ns"), sum("ns") + figure("in_flight_delta_ns"), "{row}");
    }
}

fn sum(page: &BTreeMap<String, i128>, prefix: &str) -> i128 {
    page.iter().filter(|(name, _)| name.starts_with(prefix)).map(|(_, value)| value).sum()
}

#[test]
fn readers_the_page_and_the_recording_have_the_histograms() {
    if without_ledger() {
        return;
    }
    let _storm = Load::shell("while :; do /bin/true & /bin/true; done");
    let settings =
        "[record]\ninterval = \"1s\"\n[blame]\nhistograms = true\n[metrics]\nbuckets = true\n";
    let (mut daemon, port) = daemon(settings);
    for by in ["command", "cgroup"] {
        let windows = daemon.windows(&["waits", "--by", by, "0.3", "2"]);
        assert_eq!(windows.len(), 2);
        windows.iter().for_each(closes);
    }
    let _ = page(port);
    let page = page(port);
    let waits = |wait: &str| {
        let of = |name: &&String| name.contains(&format!("wait=\"{wait}\""));
        let groups = "exactop_group_wait_seconds_total";
        let all = page.keys().filter(|name| name.starts_with(groups)).filter(of);
        all.map(|name| page[name]).sum::<i128>()
    };
    let waited = waits("runqueue") + waits("throttled");
    let ended = sum(&page, "exactop_wait_size_sum");
    assert!(ended > 0, "{page:?}");
    assert_eq!(ended + page["exactop_open_waits_seconds"], waited, "to the nanosecond");
    let all: Vec<_> = page.keys().filter(|name| name.contains("le=\"+Inf\"")).collect();
    assert!(!all.is_empty());
    let dispatches: i128 = all.into_iter().map(|name| page[name]).sum();
    assert_eq!(dispatches, sum(&page, "exactop_wait_size_count"));
    assert_eq!(daemon.end(TERM), Some(0), "{}", daemon.said());
    let log = daemon.log();
    let replay = ["waits", "--by", "command", "--json", "--replay", log.to_str().expect("UTF-8")];
    let told = run(&replay).fine();
    let windows: Vec<Value> =
        told.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    windows.iter().for_each(closes);
    let dispatched = |window: &Value| -> i64 {
        let rows = window["rows"].as_array().expect("rows").iter();
        rows.map(|row| row["dispatches"].as_i64().expect("a number")).sum()
    };
    let recorded: i64 = windows.iter().map(dispatched).sum();
    assert!(i128::from(recorded) >= dispatches, "{recorded} recorded, {dispatches} on the page");
}

#[test]
fn a_daemon_without_histograms_says_how_to_keep_them() {
    if without_ledger() {
        return;
    }
    let (daemon, port) = daemon("");
    let socket = daemon.socket();
    let words = ["waits", "--by", "pod", "1", "1", "--socket", socket.to_str().expect("UTF-8")];
    run(&words).refused(1, "the source keeps no histograms of waits: set 'histograms = true'");
    let page = any_page(port);
    assert!(page.keys().all(|name| !name.contains("wait_size")), "{page:?}");
}
