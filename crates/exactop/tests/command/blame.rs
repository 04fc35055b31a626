//! `exactop blame` on the real machine: each format, and the sums of its rows.

use crate::helpers::processes::Load;
use crate::helpers::run::{command, run, without_ledger};
use exactop_testkit::wait;
use exactop_workloads::procs::thread_count;
use serde_json::Value;
use std::process::Stdio;

/// One more busy thread than there are CPUs, so they wait for each other.
pub fn crowd() -> Load {
    let threads = std::thread::available_parallelism().expect("CPUs").get() + 1;
    let spin = ["load", "spin", "--threads", &threads.to_string(), "--duration", "600"];
    let load = Load::start(command(&spin).stderr(Stdio::null()).stdout(Stdio::null()));
    wait::until("its threads", || thread_count(load.pid()) >= Some(threads));
    load
}

pub fn rows(window: &Value) -> &Vec<Value> {
    window["rows"].as_array().expect("rows")
}

/// Output of a command about the group that a process stands for.
pub fn of_process(about: &str, process: &Load, words: &[&str]) -> String {
    let pid = process.pid().to_string();
    run(&[&[about, "--by", "command", "-p", &pid], words].concat()).fine()
}

/// The row of a window that has one.
pub fn only_row(json: &str) -> Value {
    let window: Value = serde_json::from_str(json).expect("JSON");
    let [row] = &rows(&window)[..] else { panic!("{window}") };
    row.clone()
}

#[test]
fn each_row_is_the_sum_of_its_culprits() {
    if without_ledger() {
        return;
    }
    let load = crowd();
    // The ledger's tests sum one window by all keys.
    for by in ["cgroup", "container", "user", "command"] {
        let told = run(&["blame", "--by", by, "--json", "0.3", "2"]).fine();
        let windows: Vec<Value> =
            told.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(windows.len(), 2, "{told}");
        for window in &windows {
            assert_eq!(window["blame_residual_ns"], 0, "{window}");
            assert!(!rows(window).is_empty());
            for row in rows(window) {
                let figure = |name: &str| row[name].as_i64().expect(name);
                let culprits = row["culprits"].as_array().expect("culprits");
                let booked: i64 = culprits.iter().map(|c| c["ns"].as_i64().expect("ns")).sum();
                assert_eq!(figure("lat_ns"), booked + figure("in_flight_delta_ns"), "{row}");
                assert!(figure("dispatches") >= 0 && row["victim"].is_string(), "{row}");
                assert!(culprits.iter().all(|c| c["times"].as_u64() > Some(0)), "{row}");
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
    let of = |words: &[&str]| of_process("blame", &load, words);
    let row = only_row(&of(&["--json", "0.3", "1"]));
    assert_eq!(row["victim"], "exactop");
    let culprits = row["culprits"].as_array().expect("culprits");
    let own = culprits.iter().find(|culprit| culprit["kind"] == "own").expect("itself");
    assert!(own["ns"].as_u64() > Some(0) && own["culprit"] == "exactop", "{own}");
    let text = of(&["0.3", "1"]);
    assert!(text.lines().next().is_some_and(|line| line.ends_with("; residual 0 ns")), "{text}");
    assert!(text.contains("itself "), "{text}");
    assert!(of(&["--matrix", "0.3", "1"]).contains("WAITED"));
    let csv = of(&["--csv", "0.3", "1"]);
    assert!(csv.starts_with("t0_ns,t1_ns,victim,lat_ns,dispatches,in_flight_delta_ns,culprit,kind"));
    let none = run(&["blame", "-g", "/no/such/group", "--json", "0.1", "1"]).fine();
    assert!(rows(&serde_json::from_str(&none).expect("JSON")).is_empty(), "{none}");
}

/// The book of a recorded window is the one that was measured, and its waits are those of the rows.
#[test]
fn a_recording_has_the_book_of_each_window() {
    if without_ledger() {
        return;
    }
    let load = crowd();
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording").display().to_string();
    run(&["--json", "-n", "3", "-d", "0.3", "--source", "ledger", "--record", &path]).fine();
    drop(load);
    let lines = |words: &[&str]| -> Vec<Value> {
        let told = run(words).fine();
        told.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let sum = |rows: &Value, names: &[&str]| -> i64 {
        let rows = rows.as_array().expect("rows").iter();
        rows.map(|row| names.iter().map(|n| row[n].as_i64().expect("ns")).sum::<i64>()).sum()
    };
    for by in ["cgroup", "user", "command"] {
        let blamed = lines(&["blame", "--replay", &path, "--by", by, "--json"]);
        let summed = lines(&["replay", &path, "--by", by, "--json"]);
        assert_eq!((blamed.len(), summed.len()), (3, 3));
        for (blamed, summed) in blamed.iter().zip(&summed) {
            assert_eq!(blamed["blame_residual_ns"], 0, "{blamed}");
            let waited = sum(&blamed["rows"], &["lat_ns"]);
            assert!(waited > 0, "{blamed}");
            assert_eq!(waited, sum(&summed["rows"], &["lat_ns", "throttle_ns"]), "{blamed}");
        }
    }
    for by in ["cgroup", "user", "command"] {
        let blamed = lines(&["blame", "--replay", &path, "--by", by, "--json"]);
        let report = lines(&["report", "--json", "--by", by, &path]).remove(0);
        let waited: i64 = blamed.iter().map(|window| sum(&window["rows"], &["lat_ns"])).sum();
        assert_eq!(sum(&report["blame"]["rows"], &["lat_ns"]), waited, "{by}: {report}");
        assert_eq!(sum(&report["rows"], &["lat_ns", "throttle_ns"]), waited, "{by}: {report}");
        assert_eq!(report["blame"]["blame_residual_ns"], 0, "{by}: {report}");
        assert_eq!(report["blame"]["windows"], 3, "{by}: {report}");
        let diff = lines(&["diff", "--json", "--by", by, &path, &path]).remove(0);
        let booked = report["blame"]["rows"].as_array().expect("rows").iter();
        let booked: i64 = booked.map(|row| sum(&row["culprits"], &["ns"])).sum();
        assert_eq!(sum(&diff["pairs"], &["a_ns"]), booked, "{by}: {diff}");
        assert_eq!(sum(&diff["pairs"], &["b_ns"]), booked, "{by}: {diff}");
    }
    let none = tempfile::tempdir().expect("a directory");
    let path = none.path().join("recording").display().to_string();
    let measured = ["--json", "-n", "1", "-d", "0.1", "--blame", "off", "--record", &path];
    run(&measured).fine();
    run(&["blame", "--replay", &path]).refused(1, "the recording has no blame book");
    run(&["blame", "--replay", &path, "--floor", "5"]).refused(2, "conflicts with --floor");
    run(&["blame", "--floor", "5", "--socket", "/nowhere"]).refused(2, "leave --floor out");
}
