//! Other files in the directory: recordings that cannot be read count and are removed when old;
//! foreign files are left alone.

use crate::world::{all, machine, Live};
use exactop_recording::{Notice, Options, Recorder, Sync};
use std::path::Path;
use std::time::Duration;

fn options() -> Options {
    Options { file_bytes: 20_000, sync: Sync::Never, ..Options::default() }
}

fn open(path: &Path, options: Options) -> Recorder {
    Recorder::open(path, machine("boot"), options).expect("a recorder")
}

fn record(recorder: &mut Recorder, live: &mut Live, windows: usize) {
    (0..windows).for_each(|_| drop(live.window(recorder)));
}

#[test]
fn unreadable_files_are_removed_and_foreign_files_stay() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    record(&mut open(&path, options()), &mut Live::new(26, false), 3);
    let file = |n: u32| path.join(format!("exactop-{n:08}.rec"));
    // Remains of a power loss: zeroes, nothing, a beginning; and a foreign file.
    std::fs::write(file(2), vec![0; 500_000]).expect("a file of zeroes");
    std::fs::write(file(3), b"").expect("an empty file");
    std::fs::write(file(4), [&b"EXACTOP\n"[..], &[7; 1000]].concat()).expect("a damaged file");
    std::fs::write(file(5), b"letters to my aunt").expect("a file");
    std::fs::create_dir(file(6)).expect("a directory");
    std::fs::write(path.join("notes"), b"what happened").expect("a file");
    let options = Options { max_bytes: Some(200_000), ..options() };
    let mut recorder = open(&path, options);
    let foreign = ["exactop-00000005.rec", "exactop-00000006.rec", "notes"].map(String::from);
    let told = recorder.notices();
    assert_eq!(told, [Notice::Unreadable(3, 501_008), Notice::Foreign(foreign.to_vec())]);
    assert!(recorder.bytes() > 501_008, "{}", recorder.bytes());
    let mut live = Live::new(27, false);
    live.world.at_ns += 3_600_000_000_000;
    record(&mut recorder, &mut live, 3);
    let told = recorder.notices();
    assert!(told.contains(&Notice::Shortened(500_000)), "{told:?}");
    assert!(!file(2).exists() && recorder.bytes() <= 200_000);
    drop(recorder);
    assert!(file(5).exists() && file(6).exists() && path.join("notes").exists());
    let (windows, _) = all(&path);
    assert!(windows.len() >= 2);
}

#[test]
fn a_short_retention_makes_short_files() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let keep = Duration::from_secs(20);
    let mut recorder = open(&path, Options { keep: Some(keep), ..Options::default() });
    record(&mut recorder, &mut Live::new(28, false), 100);
    drop(recorder);
    let (windows, _) = all(&path);
    let kept_ns = windows.iter().map(|w| w.frames[0].length_ns()).sum::<u64>();
    let ratio = kept_ns as f64 / keep.as_nanos() as f64;
    assert!((1.0..1.6).contains(&ratio), "{ratio}");
}

/// A machine that booted with its clock in the year 2096, and files whose recorder was killed
/// before the first window.
#[test]
fn files_without_a_time_or_with_a_future_one_go_with_later_files() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let keep = Some(Duration::from_secs(3600));
    let kept = || Options { keep, ..options() };
    let mut live = Live::new(30, false);
    live.wall_offset_ns *= 3;
    let other = machine("an older boot");
    record(&mut Recorder::open(&path, other, kept()).expect("a recorder"), &mut live, 3);
    let file = |n: u32| path.join(format!("exactop-{n:08}.rec"));
    let whole = std::fs::read(file(1)).expect("the file");
    // The header alone, up to the next frame.
    let header = (9..).find(|&at| whole[at..].starts_with(b"EXfr") && at > 64).expect("a frame");
    std::fs::write(file(2), &whole[..header]).expect("a file");
    let mut recorder = open(&path, kept());
    let mut live = Live::new(31, false);
    record(&mut recorder, &mut live, 30);
    assert!(file(1).exists() && file(2).exists(), "their age is unknown");
    live.world.at_ns += 5_000_000_000_000;
    record(&mut recorder, &mut live, 3);
    assert!(!file(1).exists() && !file(2).exists(), "{:?}", recorder.notices());
}

/// A window that exceeds a limit is a gap; the files created for it do not pile up.
#[test]
fn a_window_above_the_limit_leaves_no_empty_files() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let mut recorder = open(&path, options());
    let mut live = Live::new(32, false);
    record(&mut recorder, &mut live, 3);
    for _ in 0..3 {
        let now = live.world.next();
        let mut too_much = now.clone();
        let cpus = (2..1 << 17).map(|cpu| exactop_model::CpuSample { cpu, ..now.cpus[0] });
        too_much.cpus.extend(cpus);
        recorder.record(&too_much, &live.book, live.clocks());
        live.book.advance(now);
    }
    let told = recorder.notices();
    assert!(
        matches!(&told[..], [Notice::NotWritten(why)] if why.contains("16 million")),
        "{told:?}"
    );
    assert_eq!(std::fs::read_dir(&path).expect("a directory").count(), 2, "the lock and a file");
    record(&mut recorder, &mut live, 3);
    assert_eq!(recorder.notices(), [Notice::Again]);
    drop(recorder);
    let (windows, gaps) = all(&path);
    assert_eq!(windows.len(), 5);
    assert!(
        matches!(&gaps[..], [gap] if gap.why == exactop_recording::GapReason::NotWritten),
        "{gaps:?}"
    );
}

#[test]
fn files_with_names_that_no_recorder_gives_are_ignored() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    record(&mut open(&path, options()), &mut Live::new(33, false), 3);
    let first = path.join("exactop-00000001.rec");
    let odd = ["exactop-+0000002.rec", "exactop-000000001.rec", "exactop-18446744073709551615.rec"];
    for name in odd {
        std::fs::copy(&first, path.join(name)).expect("a copy");
    }
    let mut recorder = open(&path, options());
    assert_eq!(recorder.notices(), [Notice::Foreign(odd.map(String::from).to_vec())]);
    let mut live = Live::new(34, false);
    live.world.at_ns += 3_600_000_000_000;
    record(&mut recorder, &mut live, 3);
    drop(recorder);
    assert!(path.join("exactop-00000002.rec").exists());
    assert_eq!(all(&path).0.len(), 4, "each window once");
}
