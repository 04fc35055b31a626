//! `exactop waits --by` an owner on the real machine: each format, and what does not go together.

use crate::blame::{crowd, of_process, only_row, rows};
use crate::helpers::run::{run, without_ledger};
use serde_json::Value;

/// Counts are dispatches and sums are waits, to the nanosecond.
pub fn closes(window: &Value) {
    assert_eq!(window["hist_residual_ns"], 0, "{window}");
    assert!(!rows(window).is_empty());
    for row in rows(window) {
        let kinds = [&row["woken"], &row["preempted"]];
        let sum = |key: &str| -> i64 {
            let figures = kinds.map(|kind| kind[key].as_array().expect("figures"));
            assert!(figures.iter().all(|figures| figures.len() == 26), "{row}");
            figures.into_iter().flatten().map(|n| n.as_i64().expect("a number")).sum()
        };
        let figure = |key: &str| row[key].as_i64().expect("a number");
        assert_eq!(figure("dispatches"), sum("counts"), "{row}");
        assert_eq!(figure("lat_ns"), sum("ns") + figure("in_flight_delta_ns"), "{row}");
        for kind in kinds {
            let of = ["p50_ns", "p90_ns", "p99_ns", "max_ns"].map(|key| kind[key].as_u64());
            assert!(of.is_sorted(), "{kind}");
        }
    }
}

#[test]
fn counts_are_dispatches_and_sums_are_waits() {
    if without_ledger() {
        return;
    }
    let load = crowd();
    for by in ["cgroup", "command"] {
        let told = run(&["waits", "--by", by, "--json", "0.3", "2"]).fine();
        for line in told.lines() {
            let window: Value = serde_json::from_str(line).expect("JSON");
            assert_eq!(window["by"], by);
            closes(&window);
        }
    }
    drop(load);
}

#[test]
fn a_process_stands_for_its_group_in_each_format() {
    if without_ledger() {
        return;
    }
    let load = crowd();
    let of = |words: &[&str]| of_process("waits", &load, words);
    let row = only_row(&of(&["--json", "0.3", "1"]));
    assert_eq!(row["group"], "exactop");
    let text = of(&["0.3", "1"]);
    assert!(text.lines().next().is_some_and(|line| line.ends_with("; residual 0 ns")), "{text}");
    assert!(text.contains("<256ns 16us") && text.contains("preempted  exactop"), "{text}");
    let csv = of(&["--csv", "0.3", "1"]);
    assert!(
        csv.starts_with("t0_ns,t1_ns,group,lat_ns,dispatches,in_flight_delta_ns,began,below_ns")
    );
    drop(load);
}

/// The histograms of a recorded window are those that were measured, under each key.
#[test]
fn a_recording_has_the_histograms_of_each_window() {
    if without_ledger() {
        return;
    }
    let load = crowd();
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording").display().to_string();
    let watched = ["--json", "-n", "3", "-d", "0.3", "--source", "ledger"];
    run(&[&watched[..], &["--blame", "histograms", "--record", &path]].concat()).fine();
    drop(load);
    let lines = |words: &[&str]| -> Vec<Value> {
        let told = run(words).fine();
        told.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let mut before = None;
    for by in ["cgroup", "user", "command"] {
        let sized = lines(&["waits", "--by", by, "--replay", &path, "--json"]);
        let blamed = lines(&["blame", "--by", by, "--replay", &path, "--json"]);
        assert_eq!((sized.len(), blamed.len()), (3, 3));
        let sum = |window: &Value, key: &str| -> i64 {
            rows(window).iter().map(|row| row[key].as_i64().expect("a number")).sum()
        };
        for (sized, blamed) in sized.iter().zip(&blamed) {
            closes(sized);
            for key in ["lat_ns", "dispatches"] {
                assert!(sum(sized, key) > 0);
                assert_eq!(sum(sized, key), sum(blamed, key), "{key} by {by}");
            }
        }
        let all: Vec<i64> = sized.iter().map(|window| sum(window, "lat_ns")).collect();
        assert_eq!(*before.get_or_insert(all.clone()), all, "{by}");
    }
    let replay = ["waits", "--by", "pod", "--replay", &path];
    run(&[&replay[..], &["--source", "own"]].concat()).refused(2, "conflict with --replay");
    let none = dir.path().join("none").display().to_string();
    run(&["--json", "-n", "1", "-d", "0.1", "--source", "ledger", "--record", &none]).fine();
    let none = ["waits", "--by", "pod", "--replay", &none];
    run(&none).refused(1, "the recording has no histograms of waits: record with --blame");
}
