//! A replay shows what was recorded: every figure of every row, from the beginning and from any
//! time, with gaps, boots and clock jumps.

use crate::world::{all, machine, open, replayed, Live, Shown};
use exactop_model::Tap;
use exactop_recording::{GapReason, Options, Recorder, Recording, RecordingError, Sync};
use std::time::Duration;

const WINDOWS: usize = 200;

/// Small files, so that there are many.
fn options() -> Options {
    // No power failure here: do not sync.
    Options { file_bytes: 60_000, sync: Sync::Never, ..Options::default() }
}

fn record(dir: &std::path::Path, live: &mut Live, windows: usize) -> Vec<Shown> {
    let mut recorder = Recorder::open(dir, machine("boot"), options()).expect("a recorder");
    let shown = (0..=windows).filter_map(|_| live.window(&mut recorder)).collect();
    assert_eq!(recorder.notices(), []);
    shown
}

#[test]
fn every_window_replays_as_recorded() {
    for complete in [false, true] {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("recording");
        let shown = record(&path, &mut Live::new(3, complete), WINDOWS);
        let (windows, gaps) = all(&path);
        assert_eq!((shown.len(), windows.len(), gaps.len()), (WINDOWS, WINDOWS, 0));
        assert!(shown.iter().any(|s| !s.rows.is_empty() && !s.frames[0].exited.is_empty()));
        assert!(shown.iter().any(|s| !s.moves.is_empty()));
        let audited = |s: &Shown| s.frames[0].audit.lat.is_some_and(|held| held.max_ns > 0);
        let repaired = |s: &Shown| s.frames[0].repaired.tasks > Some(0);
        assert_eq!(shown.iter().any(|s| audited(s) && repaired(s)), !complete);
        for (shown, window) in shown.iter().zip(&windows) {
            assert_eq!(shown, window);
        }
        assert!(Recording::open(&path).expect("it").parts().len() > 2, "several files");
    }
}

#[test]
fn a_seek_to_a_time_shows_its_window() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let mut live = Live::new(5, false);
    let shown = record(&path, &mut live, WINDOWS);
    let mut replay = open(&path);
    for at in [0, WINDOWS - 1, 70, 64, 63, 1, 128, 199, 100] {
        let frame = &shown[at].frames[0];
        let wall_ns = i128::from(frame.t1_ns) + i128::from(live.wall_offset_ns) - 1;
        assert!(replay.seek(wall_ns).expect("readable"));
        let there = replayed(&mut replay);
        // Details that were read earlier and still hold are known, too.
        assert_eq!(there, shown[at], "window {at}");
    }
    assert!(!replay.seek(i128::MAX).expect("readable"), "after all of it");
    assert_eq!(&replayed(&mut replay), shown.last().expect("the last"));
    assert!(replay.seek(0).expect("readable"), "before all of it");
    assert_eq!(replayed(&mut replay), shown[0]);
}

#[test]
fn sessions_boots_and_clock_jumps_are_distinguished() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let mut live = Live::new(7, false);
    let mut shown = record(&path, &mut live, 5);
    let until = live.world.at_ns;
    // Another session, later in the same boot, after the clock was set back and forth.
    live.world.at_ns += 60_000_000_000;
    live.book = exactop_model::Book::new();
    let mut recorder = Recorder::open(&path, machine("boot"), options()).expect("a recorder");
    for jump in [0, -(1 << 50), 1 << 51, 0, 5] {
        live.wall_offset_ns += jump;
        shown.extend(live.window(&mut recorder));
    }
    drop(recorder);
    let mut rebooted = Live::new(9, true);
    let mut recorder = Recorder::open(&path, machine("another"), options()).expect("a recorder");
    shown.extend((0..4).filter_map(|_| rebooted.window(&mut recorder)));
    drop(recorder);
    let (windows, gaps) = all(&path);
    assert_eq!(windows, shown);
    let [between, boot] = &gaps[..] else { panic!("{gaps:?}") };
    assert_eq!((between.why, boot.why), (GapReason::NotRunning, GapReason::Boot));
    let first = &shown[5].frames[0];
    assert_eq!(between.length_ns, Some(first.t0_ns - until), "windows + gaps = elapsed");
    assert_eq!(boot.length_ns, None);
}

#[test]
fn a_second_recorder_is_refused_by_name_and_pid() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let first = Recorder::open(&path, machine("boot"), options()).expect("a recorder");
    let second = Recorder::open(&path, machine("boot"), options()).map(drop);
    let error = second.expect_err("refused");
    assert!(
        matches!(&error, RecordingError::InUse { pid, .. } if *pid == std::process::id().to_string())
    );
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    drop(first);
    Recorder::open(&path, machine("boot"), options()).expect("free again");
}

#[test]
fn a_directory_that_others_may_write_to_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().expect("a directory");
    for mode in [0o777, 0o1777, 0o770] {
        let set = std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(mode));
        set.expect("permissions");
        let error = Recorder::open(dir.path(), machine("boot"), options()).expect_err("refused");
        assert!(error.to_string().contains("others can write to"), "{error}");
    }
}

#[test]
fn excess_and_old_files_are_removed_and_the_running_file_counts() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let most = 160_000;
    let options = Options { max_bytes: Some(most), ..options() };
    let mut recorder = Recorder::open(&path, machine("boot"), options).expect("a recorder");
    let mut live = Live::new(11, false);
    let size = || {
        let files = std::fs::read_dir(&path).expect("a directory");
        files.map(|file| file.expect("a file").metadata().expect("its size").len()).sum::<u64>()
    };
    let mut shown = Vec::new();
    for _ in 0..200 {
        shown.extend(live.window(&mut recorder));
        // A file that has just begun may exceed it, once.
        assert!(size() < most + 40_000, "{}", size());
    }
    assert!(!recorder.notices().is_empty(), "a notice");
    drop(recorder);
    let (windows, gaps) = all(&path);
    assert!(windows.len() > 20 && gaps.is_empty(), "{}", windows.len());
    assert_eq!(windows[..], shown[shown.len() - windows.len()..], "the newest are there");

    let options = Options { keep: Some(Duration::from_millis(1)), ..self::options() };
    let mut recorder = Recorder::open(&path, machine("boot"), options).expect("a recorder");
    live.window(&mut recorder);
    drop(recorder);
    let left = Recording::open(&path).expect("it").parts().len();
    assert_eq!(left, 1, "the new one is left");
}

#[test]
fn details_of_a_sleeping_task_are_in_every_later_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let options = Options { file_bytes: 15_000, ..options() };
    let mut recorder = Recorder::open(&path, machine("boot"), options).expect("a recorder");
    let mut live = Live::new(13, false);
    live.window(&mut recorder);
    let shown = live.window(&mut recorder).expect("a window");
    // Details are no longer read.
    for _ in 0..100 {
        let now = live.world.next();
        recorder.record(&now, &live.book, live.clocks());
        live.book.advance(now);
    }
    drop(recorder);
    assert!(Recording::open(&path).expect("it").parts().len() > 2, "several files");
    let mut replay = open(&path);
    while replay.forward().expect("readable") != exactop_recording::ReplayStep::End {}
    let there = replayed(&mut replay);
    let mut known = 0;
    for row in &shown.rows {
        let Some(later) = there.rows.iter().find(|later| later.account == row.account) else {
            continue;
        };
        assert_eq!(later.detail.cmdline, row.detail.cmdline);
        assert_eq!(later.detail.user, row.detail.user);
        known += 1;
    }
    assert!(known > 3, "{known} still live");
}

/// Each window has the names that were read for it, also in a cut of it.
#[test]
fn a_user_without_a_living_process_has_a_name() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let mut recorder = Recorder::open(&path, machine("boot"), options()).expect("a recorder");
    let mut live = Live::new(13, false);
    live.window(&mut recorder);
    let is_named = |n: usize| !n.is_multiple_of(3);
    for n in 0..WINDOWS {
        let now = live.world.next();
        recorder.record(&now, &live.book, live.clocks());
        live.book.advance(now);
        if is_named(n) {
            recorder.user(4_000_000_000, "somebody");
            recorder.user(4_000_000_001, &format!("user of {n}"));
        }
    }
    drop(recorder);
    let all = |path: &std::path::Path| {
        let mut replay = open(path);
        let mut all = Vec::new();
        while replay.forward().expect("readable") != exactop_recording::ReplayStep::End {
            all.push([4_000_000_000, 4_000_000_001].map(|uid| replay.user(uid)));
        }
        all
    };
    let expected: Vec<_> = (0..WINDOWS)
        .map(|n| {
            let named = |name: String| is_named(n).then_some(name);
            [named("somebody".into()), named(format!("user of {n}"))]
        })
        .collect();
    assert_eq!(all(&path), expected);
    assert_eq!(all(&crate::cut::whole(&path, false, dir.path())), expected);
}

#[test]
fn an_end_right_after_a_gap_shows_the_last_window_as_it_was() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let mut live = Live::new(15, false);
    let shown = record(&path, &mut live, 5);
    // Another session that ends at its first instant.
    live.world.at_ns += 60_000_000_000;
    live.book = exactop_model::Book::new();
    let mut recorder = Recorder::open(&path, machine("boot"), options()).expect("a recorder");
    assert!(live.window(&mut recorder).is_none());
    drop(recorder);
    let mut replay = open(&path);
    while replay.forward().expect("readable") != exactop_recording::ReplayStep::End {}
    assert!(&replayed(&mut replay) == shown.last().expect("the last"));
}

#[test]
fn a_file_that_is_missing_within_a_session_is_damage() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let shown = record(&path, &mut Live::new(17, false), WINDOWS);
    std::fs::remove_file(path.join("exactop-00000002.rec")).expect("the file");
    let (windows, gaps) = all(&path);
    let [gap] = &gaps[..] else { panic!("{gaps:?}") };
    assert_eq!(gap.why, GapReason::Damaged);
    let told: u64 = windows.iter().map(|w| w.frames[0].length_ns()).sum();
    let elapsed = shown[WINDOWS - 1].frames[0].t1_ns - shown[0].frames[0].t0_ns;
    assert_eq!(gap.length_ns, Some(elapsed - told));
}

#[test]
fn a_seek_into_a_gap_returns_the_gap() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let mut live = Live::new(19, false);
    record(&path, &mut live, 3);
    let until = i128::from(live.world.at_ns) + i128::from(live.wall_offset_ns);
    live.world.at_ns += 60_000_000_000;
    live.book = exactop_model::Book::new();
    let second = record(&path, &mut live, 3);
    let mut replay = open(&path);
    assert!(replay.seek(until + 30_000_000_000).expect("readable"));
    let gap = replay.missed().expect("the gap").clone();
    assert_eq!((gap.why, gap.from_wall_ns), (GapReason::NotRunning, until));
    assert!(replayed(&mut replay) == second[0]);
    assert!(replay.seek(until - 1).expect("readable"));
    assert_eq!(replay.missed(), None);
    assert!(replay.seek(0).expect("readable") && replay.missed().is_none(), "before all of it");
}

#[test]
fn after_a_clock_set_back_a_seek_finds_a_window_that_holds_the_time() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let mut live = Live::new(29, false);
    let mut recorder = Recorder::open(&path, machine("boot"), options()).expect("a recorder");
    let mut spans = Vec::new();
    for n in 0..60 {
        if n % 20 == 10 {
            live.wall_offset_ns -= 25_000_000_000;
        }
        if let Some(shown) = live.window(&mut recorder) {
            let wall = |ns: u64| i128::from(ns) + i128::from(live.wall_offset_ns);
            spans.push((wall(shown.frames[0].t0_ns), wall(shown.frames[0].t1_ns)));
        }
    }
    drop(recorder);
    let mut replay = open(&path);
    for (begin, end) in spans {
        assert!(replay.seek(end - 1).expect("readable"));
        let span = replay.span().expect("a window");
        assert!(span.wall_t0_ns() < end && end - 1 < span.wall_t1_ns(), "{begin} {end} {span:?}");
    }
}

#[test]
fn removing_the_pid_file_does_not_release_the_lock() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let mut first = Recorder::open(&path, machine("boot"), options()).expect("a recorder");
    std::fs::remove_file(path.join("writer.lock")).expect("the file");
    let second = Recorder::open(&path, machine("boot"), options()).map(drop);
    assert!(matches!(second, Err(RecordingError::InUse { .. })), "{second:?}");
    // A foreign file under the next file's name is left alone.
    std::fs::write(path.join("exactop-00000001.rec"), "theirs").expect("a file");
    let mut live = Live::new(31, false);
    (0..3).for_each(|_| drop(live.window(&mut first)));
    assert_eq!(first.notices(), []);
    assert!(path.join("exactop-00000002.rec").exists());
}
