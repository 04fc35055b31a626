//! Replays of commands that sum windows: the names and the windows of the recording.

use crate::helpers::run::run;

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
