//! Two time ranges compared: the change of busy time is that of its rows, for every source.

use crate::helpers::processes::Load;
use crate::helpers::run::run;
#[cfg(feature = "bpf")]
use crate::helpers::run::without_ledger;
use std::path::Path;

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn record(path: &Path, source: &str) {
    let words =
        ["--json", "-n", "8", "-d", "0.1", "--source", source, "--columns", "pid,user,cgroup"];
    run(&[&words[..], &["--record", text(path)]].concat()).fine();
}

fn books_of(path: &[&str]) -> serde_json::Value {
    let told = run(&[&["diff", "--json"], path].concat()).fine();
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    let of = |key: &str| told["books"][key].as_i64();
    let rows = told["rows"].as_array().expect("rows").iter();
    let rows: i64 = rows.map(|row| row["delta_ns"].as_i64().expect("ns")).sum();
    let known = |key: &str| of(key).expect(key);
    assert_eq!(rows + known("unnamed_delta_ns"), known("busy_delta_ns"));
    let told_apart = [of("steal_delta_ns"), of("irq_delta_ns")].into_iter().flatten().sum::<i64>();
    let others = known("idle_delta_ns") + known("offline_delta_ns") + told_apart;
    let missing = known("capacity_delta_ns") - known("residual_delta_ns");
    assert_eq!(known("busy_delta_ns"), missing - others);
    told
}

fn compared(source: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    record(&a, source);
    let storm = Load::shell("while :; do echo x | cat; done");
    record(&b, source);
    drop(storm);
    for by in ["command", "cgroup", "unit", "user", "process", "session"] {
        let told = books_of(&["--by", by, text(&a), text(&b)]);
        assert_eq!(told["a"]["windows"], 8);
        assert!(told["verdict"] != "too_few_windows");
    }
    for per in ["wall", "work=exits"] {
        books_of(&["--per", per, text(&a), text(&b)]);
    }
    let same = books_of(&["-a", "1h ago+1h", "-b", "1h ago+1h", text(&a)]);
    assert_eq!(
        (&same["books"]["busy_delta_ns"], &same["verdict"]),
        (&0.into(), &"nothing_beyond_noise".into())
    );
    let words = run(&["diff", text(&a), text(&b)]).fine();
    assert!(words.contains(" ns sum to the change of busy time, "), "{words}");
}

#[test]
fn the_change_is_that_of_the_rows_by_ticks() {
    compared("procfs");
}

#[cfg(feature = "bpf")]
#[test]
fn the_change_is_that_of_the_rows_in_the_ledger() {
    if !without_ledger() {
        compared("ledger");
    }
}

#[test]
fn incomparable_recordings_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    record(&path, "procfs");
    let path = text(&path);
    run(&["diff", path]).refused(2, "give two recordings, or two time ranges");
    run(&["diff", "-a", "soon", "-b", "14:00+1m", path]).refused(2, "is not a time");
    run(&["diff", "-a", "now+1m", "-b", "1h ago+1h", path]).refused(1, "no window of");
    run(&["diff", "--per", "work=x", path, path]).refused(2, "dispatches");
    run(&["diff", path, "/nonexistent/x"]).refused(1, "/nonexistent");
}
