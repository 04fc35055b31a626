//! A time range of a recording as one file.

use crate::helpers::run::run;
use crate::made_up_proc::tree;
use std::path::Path;

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn a_cut_part_replays_unchanged() {
    let dir = tempfile::tempdir().expect("a directory");
    let (path, part, hidden) =
        (dir.path().join("recording"), dir.path().join("part"), dir.path().join("hidden"));
    let tree = tree();
    let root = ["--proc-root", text(tree.path())];
    let words = ["--json", "-c", "-n", "5", "-d", "0.05", "--record", text(&path)];
    let live = run(&[&words[..], &root].concat()).fine();
    let cut = ["record", "cut", "-t", "1h ago+1h", text(&path), "-o"];
    let said = run(&[&cut[..], &[text(&part)]].concat()).fine();
    assert!(said.starts_with("5 windows, 0 gaps, "), "{said}");
    assert_eq!(run(&["replay", "--json", "-c", text(&part)]).fine(), live);
    run(&[&cut[..], &[text(&hidden), "--anonymous"]].concat()).fine();
    let masked = run(&["replay", "--json", "-c", text(&hidden)]).fine();
    assert!(masked.contains("\"cmd1\"") && masked.lines().count() == 5, "{masked}");
    let difference = run(&["diff", "--json", text(&part), text(&hidden)]).fine();
    let told: serde_json::Value = serde_json::from_str(&difference).expect("JSON");
    assert_eq!(told["books"]["busy_delta_ns"], 0);
    let said = run(&["diff", text(&part), text(&hidden)]).fine();
    assert!(said.contains("Names are hidden") && said.contains("5 windows"), "{said}");
    let nothing = dir.path().join("nothing");
    let later = ["record", "cut", "-t", "now+1m", text(&path), "-o", text(&nothing)];
    run(&later).refused(1, "no window ends in");
    assert!(!nothing.exists(), "no file without a window");
    run(&["record", "cut", text(&path), "-o", text(&part)]).refused(2, "--time");
}

#[test]
fn a_recording_is_not_cut_into_itself() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let tree = tree();
    let root = ["--proc-root", text(tree.path())];
    let words = ["--json", "-c", "-n", "3", "-d", "0.05", "--record", text(&path)];
    let live = run(&[&words[..], &root].concat()).fine();
    let file = path.join("exactop-00000001.rec");
    let (link, hard) = (dir.path().join("link"), dir.path().join("hard"));
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    std::fs::hard_link(&file, &hard).expect("a link");
    let before = std::fs::read(&file).expect("it");
    for from in [&path, &file] {
        for onto in [&file, &link, &hard] {
            let words = ["record", "cut", "-t", "1h ago+1h", text(from), "-o", text(onto)];
            run(&words).refused(2, "is a part of the recording that is read");
            assert_eq!(std::fs::read(&file).expect("it"), before, "{onto:?}");
        }
    }
    assert_eq!(run(&["replay", "--json", "-c", text(&path)]).fine(), live);
    // A different file in its place is replaced.
    let other = dir.path().join("other");
    std::fs::write(&other, "before").expect("a file");
    run(&["record", "cut", "-t", "1h ago+1h", text(&path), "-o", text(&other)]).fine();
    assert_eq!(run(&["replay", "--json", "-c", text(&other)]).fine(), live);
}
