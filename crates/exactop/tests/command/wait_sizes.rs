//! `exactop waits --by` an owner on the real machine: each format, and what does not go together.

use crate::blame::{crowd, rows};
use crate::helpers::run::{run, without_ledger};
use serde_json::Value;

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
            assert_eq!((&window["hist_residual_ns"], &window["by"]), (&0.into(), &by.into()));
            assert!(!rows(&window).is_empty());
            for row in rows(&window) {
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
    }
    drop(load);
}

#[test]
fn a_process_stands_for_its_group_in_each_format() {
    if without_ledger() {
        return;
    }
    let load = crowd();
    let pid = load.pid().to_string();
    let of = |words: &[&str]| {
        let all = ["waits", "--by", "command", "-p", &pid].into_iter().chain(words.iter().copied());
        run(&all.collect::<Vec<_>>()).fine()
    };
    let told: Value = serde_json::from_str(&of(&["--json", "0.3", "1"])).expect("JSON");
    let [row] = &rows(&told)[..] else { panic!("{told}") };
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

#[test]
fn a_daemon_and_a_recording_are_refused() {
    let refused = |words: &[&str]| {
        let done = run(&[&["waits", "--by", "pod"], words].concat());
        (done.code, done.err)
    };
    let daemon = "exactop: waits: the daemon keeps no histograms of waits: leave --source, --socket or --by pod out\n";
    assert_eq!(refused(&["--source", "daemon", "1", "1"]), (Some(2), daemon.into()));
    let replay =
        "exactop: waits: a recording has no histograms of waits: leave --replay or --by pod out\n";
    assert_eq!(refused(&["--replay", "/nonexistent"]), (Some(2), replay.into()));
}
