//! An option has the same effect in every command that reads windows.

use crate::helpers::run::{run, run_on};
use crate::made_up_proc::tree;
use serde_json::Value;

/// Five windows of a source without books.
const RECORDED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../keep/recording/tests/recordings/form-1-procfs.rec");

/// Lines below the summary.
fn rows(text: &str) -> Vec<&str> {
    text.lines().skip_while(|line| !line.is_empty()).skip(2).collect()
}

#[test]
fn one_window_is_printed_by_either_name() {
    let tree = tree();
    let print = |words: &[&str]| run_on(tree.path(), &[words, &["-d", "0.05"]].concat()).fine();
    let (once, one) = (print(&["--once"]), print(&["-n", "1"]));
    assert!(once.starts_with("exactop - ") && one.starts_with("exactop - "), "{one}");
    assert_eq!((rows(&once).len(), rows(&once)), (3, rows(&one)));
    let of_recording = |words: &[&str]| run(&[&["replay", RECORDED], words].concat()).fine();
    assert_eq!(of_recording(&["--once"]), of_recording(&["-n", "1"]));
    assert_eq!(of_recording(&["--once", "--json"]).lines().count(), 1);
}

#[test]
fn rows_of_text_can_be_few() {
    let tree = tree();
    let print =
        |words: &[&str]| run_on(tree.path(), &[&["--once", "-d", "0.05"], words].concat()).fine();
    let (all, few) = (print(&[]), print(&["--rows", "2"]));
    assert_eq!((rows(&all).len(), rows(&few)), (3, rows(&all)[..2].to_vec()));
    assert!(few.contains("\nTasks:   3 total,"), "{few}");
    run(&["--rows", "2", "--by", "user", "-b"]).refused(2, "conflicts with");
}

#[test]
fn a_recording_is_found_by_its_argument_or_by_dir() {
    for words in [
        &["record", "list"][..],
        &["record", "verify"],
        &["report", "--json"],
        &["replay", "--csv"],
        &["diff", "-a", "2006-01-01 00:00", "-b", "2006-01-01 00:00"],
    ] {
        let named = run(&[words, &["--dir", RECORDED]].concat()).fine();
        assert_eq!(named, run(&[words, &[RECORDED]].concat()).fine(), "{words:?}");
    }
    let nowhere = ["record", "list", "--dir", "/nonexistent/x"];
    run(&nowhere).refused(1, "/nonexistent");
}

#[test]
fn a_stretch_has_the_same_windows_everywhere() {
    let told = |time: &[&str]| -> Value {
        let text = run(&[&["report", "--json", RECORDED], time].concat()).fine();
        serde_json::from_str(&text).expect("JSON")
    };
    let all = told(&[]);
    let ns = |name: &str| all["stretch"][name].as_i64().expect("ns");
    let (from, to) = (ns("from_wall_ns"), ns("to_wall_ns"));
    let middle = jiff::Timestamp::from_nanosecond(((from + to) / 2).into()).expect("a time");
    // From the middle on, with one second more before it.
    let before = jiff::Timestamp::from_nanosecond((from - 1_000_000_000).into()).expect("a time");
    let half = format!("{before}+{}s", 1 + (to - from) / 2_000_000_000);
    for (time, some) in [(middle.to_string(), true), (half, true), ("boot".into(), false)] {
        let told = told(&["-t", &time]);
        let windows = told["stretch"]["windows"].as_u64().expect("a number");
        assert_eq!(windows > 0 && windows < 5, some, "{time}: {windows}");
        // Standard error reports the recording's beginning if it is later.
        for words in [&["replay", RECORDED][..], &["ptop", "--replay", RECORDED]] {
            let printed = run(&[words, &["--json", "-t", &time]].concat());
            let lines = printed.out.lines().count() as u64;
            assert_eq!(
                (printed.code, lines),
                (Some(0), windows),
                "{words:?} {time}: {}",
                printed.err
            );
        }
    }
    run(&["replay", "-t", "14:03+5m", RECORDED]).refused(2, "add -b");
}
