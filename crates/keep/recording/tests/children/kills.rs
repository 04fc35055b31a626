//! A recorder killed at any moment: each window whose sync returned is there once, and windows and
//! gaps cover all the time.

use crate::world::{all, machine, Live};
use exactop_recording::{verify, GapReason, Options, Recorder};
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

const DIRECTORY: &str = "EXACTOP_KILLS_DIRECTORY";
const BEGIN: &str = "EXACTOP_KILLS_BEGIN";
/// Default number of kills.
const KILLS: u64 = 12;

/// Not a test: the child that the test below kills. It prints the windows that are on the disk.
#[test]
fn child() {
    let (Ok(path), Ok(begin)) = (std::env::var(DIRECTORY), std::env::var(BEGIN)) else { return };
    let options = Options { file_bytes: 60_000, ..Options::default() };
    let mut recorder = Recorder::open(path.as_ref(), machine("boot"), options).expect("a recorder");
    let mut live = Live::new(1, false);
    live.world.at_ns = begin.parse().expect("a number");
    loop {
        let window = live.window(&mut recorder);
        let Some(window) = window else { continue };
        let mut out = std::io::stdout();
        writeln!(out, "\nwindow {}", window.frames[0].t1_ns).expect("the parent reads");
        out.flush().expect("the parent reads");
    }
}

#[test]
fn every_synced_window_is_there_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let kills = std::env::var("EXACTOP_KILLS").map_or(KILLS, |n| n.parse().expect("a number"));
    let (mut synced, mut begin) = (Vec::new(), 0u64);
    for kill in 0..kills {
        begin += 10_000_000_000_000;
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "kills::child", "--nocapture"])
            .env(DIRECTORY, &path)
            .env(BEGIN, begin.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a child");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let told = |line: String| Some(line.strip_prefix("window ")?.parse::<u64>().expect("ns"));
        let first = lines.by_ref().map_while(Result::ok).find_map(told);
        synced.push(first.expect("it records"));
        // Not a multiple of any period of the recorder.
        std::thread::sleep(Duration::from_micros(kill * 7919 % 30_000));
        child.kill().expect("a kill");
        synced.extend(lines.map_while(Result::ok).filter(|l| l.len() > 20).filter_map(told));
        child.wait().expect("its end");
    }
    let (windows, gaps) = all(&path);
    let mut there = HashSet::new();
    for window in &windows {
        assert!(there.insert(window.frames[0].t1_ns), "a window twice");
    }
    for t1_ns in &synced {
        assert!(there.contains(t1_ns), "window {t1_ns} was synced and is not there");
    }
    assert_eq!(gaps.len() as u64, kills - 1);
    assert!(gaps.iter().all(|gap| gap.why == GapReason::NotRunning), "{gaps:?}");
    let between = windows[windows.len() - 1].frames[0].t1_ns - windows[0].frames[0].t0_ns;
    let report = verify(&path).expect("readable");
    let missing: u64 = gaps.iter().filter_map(|gap| gap.length_ns).sum();
    assert_eq!(report.windows_ns + missing, between, "windows + gaps = elapsed");
}
