//! A suspended machine: CLOCK_MONOTONIC stood still, so a gap covers the time, not a window.
//! Windows and gaps together are what CLOCK_BOOTTIME counted.

use crate::world::{all, machine, open, Live, Shown};
use exactop_recording::{
    cut, verify, Gap, GapReason, Options, Recorder, Recording, Sync, TimeRange,
};
use std::path::{Path, PathBuf};

const HOUR_NS: u64 = 3_600_000_000_000;

fn options() -> Options {
    Options { sync: Sync::Never, ..Options::default() }
}

/// Windows with a suspend of this length after the third.
fn drawn(dir: &Path, suspended_ns: u64) -> (PathBuf, Vec<Shown>, Live) {
    let path = dir.join("recording");
    let mut recorder = Recorder::open(&path, machine("boot"), options()).expect("a recorder");
    let mut live = Live::new(31, false);
    let mut shown: Vec<Shown> = (0..4).filter_map(|_| live.window(&mut recorder)).collect();
    live.suspend(suspended_ns);
    shown.extend((0..4).filter_map(|_| live.window(&mut recorder)));
    (path, shown, live)
}

fn check(path: &Path, shown: &[Shown], live: &Live) -> Gap {
    let (windows, gaps) = all(path);
    assert!(windows == shown, "each window as it was");
    let [gap] = &gaps[..] else { panic!("{gaps:?}") };
    assert_eq!((gap.why, gap.length_ns), (GapReason::Suspend, Some(live.suspended_ns)));
    assert_eq!(gap.to_wall_ns - gap.from_wall_ns, i128::from(live.suspended_ns));
    assert_eq!(gap.from_wall_ns, (1 << 60) + i128::from(shown[2].frames[0].t1_ns));
    let told = verify(path).expect("readable");
    assert!(told.is_whole(), "{told:?}");
    let (first, last) = (&shown[0].frames[0], &shown[shown.len() - 1].frames[0]);
    let elapsed_ns = last.t1_ns - first.t0_ns + live.suspended_ns;
    assert_eq!(told.windows_ns + gap.length_ns.expect("known"), elapsed_ns, "by CLOCK_BOOTTIME");
    gap.clone()
}

#[test]
fn a_suspend_is_a_gap_of_its_own() {
    // The second is too short to look like a wall clock that was set.
    for ns in [HOUR_NS, 300_000_000] {
        let dir = tempfile::tempdir().expect("a directory");
        let (path, shown, live) = drawn(dir.path(), ns);
        let gap = check(&path, &shown, &live);
        let mut replay = open(&path);
        let within = (gap.from_wall_ns + gap.to_wall_ns) / 2;
        assert!(replay.seek(within).expect("readable"));
        assert_eq!(replay.missed(), Some(&gap), "what is sought was not recorded");
        assert_eq!(replay.span().map(|span| span.t1_ns), Some(shown[3].frames[0].t1_ns));
    }
}

#[test]
fn a_cut_reports_the_suspend_too() {
    let dir = tempfile::tempdir().expect("a directory");
    let (path, shown, live) = drawn(dir.path(), HOUR_NS);
    let part = dir.path().join("part.rec");
    let mut out = std::fs::File::create(&part).expect("a file");
    let recording = Recording::open(&path).expect("a recording");
    let told = cut(recording, TimeRange::default(), false, &mut out).expect("cut");
    assert_eq!((told.windows, told.gaps), (shown.len() as u64, 1));
    check(&part, &shown, &live);
}

#[test]
fn setting_the_clock_is_not_a_suspend() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let mut recorder = Recorder::open(&path, machine("boot"), options()).expect("a recorder");
    let mut live = Live::new(32, false);
    let mut shown: Vec<Shown> = (0..4).filter_map(|_| live.window(&mut recorder)).collect();
    live.wall_offset_ns += HOUR_NS as i64;
    shown.extend((0..4).filter_map(|_| live.window(&mut recorder)));
    drop(recorder);
    let (windows, gaps) = all(&path);
    assert!(windows == shown && gaps.is_empty(), "{gaps:?}");
}

#[test]
fn suspended_time_before_a_recorder_began_is_not_in_a_gap() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let mut recorder = Recorder::open(&path, machine("boot"), options()).expect("a recorder");
    let mut live = Live::new(33, false);
    // Suspended for an hour before the recording began.
    live.suspend(HOUR_NS);
    let shown: Vec<Shown> = (0..4).filter_map(|_| live.window(&mut recorder)).collect();
    drop(recorder);
    let (windows, gaps) = all(&path);
    assert!(windows == shown && gaps.is_empty(), "{gaps:?}");
}
