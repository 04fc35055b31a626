//! Replays of commands that sum windows: the names and the windows of the recording.

use crate::helpers::run::run;
use std::fs;

/// Place for a recording, removed on drop.
fn place() -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording").display().to_string();
    (dir, path)
}

#[cfg(feature = "bpf")]
#[test]
fn a_length_of_windows_is_refused_beside_a_recording() {
    let (_dir, path) = place();
    let commands: [&[&str]; 5] =
        [&["blame"], &["cgroups"], &["waits"], &["waits", "--by", "user"], &["ptop"]];
    for command in commands {
        let given = |words: &[&str]| run(&[command, &["--replay", &path], words].concat());
        let why = "conflicts with a replay, which shows recorded windows: leave it out";
        given(&["-d", "3"]).refused(2, &format!("--delay {why}"));
        given(&["0.5"]).refused(2, &format!("the interval 0.5 {why}"));
        given(&["0.5", "1"]).refused(2, &format!("the interval 0.5 {why}"));
        given(&["-n", "1"]).refused(1, "No such file");
    }
}

#[test]
fn a_recording_without_a_window_is_refused_in_one_line() {
    let (dir, path) = place();
    let pace = ["-n", "2", "-d", "0.05", "--source", "procfs"];
    run(&[&["--json", "--record", &path][..], &pace].concat()).fine();
    let whole = fs::read(format!("{path}/exactop-00000001.rec")).expect("the file");
    let frames: Vec<usize> =
        (0..whole.len()).filter(|&at| whole[at..].starts_with(b"EXfr")).collect();
    let cut = dir.path().join("cut.rec").display().to_string();
    fs::write(&cut, &whole[..frames[1] + 100]).expect("a file");
    let none = "no window in the recording: run 'exactop record list'";
    run(&["report", &cut]).refused(1, none);
    for form in ["-b", "--json", "--csv"] {
        run(&["replay", form, &cut]).refused(1, none);
        run(&["replay", form, "-t", "1h ago", &cut]).refused(1, none);
    }
    run(&["ptop", "--replay", &cut]).refused(1, none);
    run(&["prstat", "--replay", &cut]).refused(1, none);
    let early = run(&["replay", "--json", "-t", "1h ago+1s", &path]);
    assert_eq!((early.code, early.out.as_str()), (Some(1), ""), "{}", early.err);
    assert!(early.err.contains("no window ends in '1h ago+1s'"), "{}", early.err);
}
