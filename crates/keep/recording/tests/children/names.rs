//! Created and removed directory entries are synced to the disk, as strace shows.

use crate::world::{machine, Live};
use exactop_recording::{Options, Recorder, Sync};
use std::process::Command;

/// Environment variable that tells the child where to record.
const DIRECTORY: &str = "EXACTOP_TEST_RECORD";

/// Not a test by itself: the traced child.
#[test]
fn child_that_records() {
    let Some(path) = std::env::var_os(DIRECTORY) else { return };
    let few = Options { file_bytes: 20_000, max_bytes: Some(60_000), ..Options::default() };
    let options = Options { sync: Sync::Never, ..few };
    let mut recorder = Recorder::open(path.as_ref(), machine("boot"), options).expect("a recorder");
    let mut live = Live::new(29, false);
    (0..60).for_each(|_| drop(live.window(&mut recorder)));
}

#[test]
fn created_and_removed_names_reach_the_disk() {
    let dir = tempfile::tempdir().expect("a directory");
    let trace = dir.path().join("trace");
    let traced = Command::new("strace")
        .args(["-f", "-e", "trace=mkdirat,openat,unlinkat,fsync", "-o"])
        .arg(&trace)
        .arg(std::env::current_exe().expect("this test"))
        .args(["--exact", "names::child_that_records"])
        .env(DIRECTORY, dir.path().join("above").join("recording"))
        .output();
    if !traced.is_ok_and(|done| done.status.success()) {
        eprintln!("left out: it takes strace");
        return;
    }
    let text = std::fs::read_to_string(&trace).expect("the trace");
    let lines: Vec<&str> = text.lines().collect();
    let changes: Vec<usize> = (0..lines.len())
        .filter(|&at| {
            let made = lines[at].contains("O_CREAT") && lines[at].contains("exactop-");
            let removed = lines[at].contains("unlinkat") && lines[at].contains("exactop-");
            lines[at].contains("mkdirat") || made || removed
        })
        .collect();
    let count = |what: &str| changes.iter().filter(|&&at| lines[at].contains(what)).count();
    assert!(count("mkdirat") == 2 && count("O_CREAT") > 3 && count("unlinkat") > 3, "{text}");
    for &at in &changes {
        let next = &lines[at + 1..lines.len().min(at + 3)];
        let [listing, sync] = next else { panic!("{}", lines[at]) };
        let synced = listing.contains("\".\", O_RDONLY") && sync.contains("fsync(");
        assert!(synced, "{}\n{listing}\n{sync}", lines[at]);
    }
}
