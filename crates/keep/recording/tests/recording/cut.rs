//! A cut has the same figures as the recording for its time; an anonymous cut has no names.

use crate::world::{all, machine, open, Live, Shown};
use exactop_model::{Ask, Book, Feed, Frame, FrameOptions, Needs, SourceKind, Tap};
use exactop_recording::{
    cut, Clocks, Cut, GapReason, Options, Recorder, Recording, ReplayStep, Sync, TimeRange,
};
use exactop_testkit::{EXITED, PROCESSES};
use std::path::{Path, PathBuf};

/// Small files, so that there are many.
fn options() -> Options {
    Options { file_bytes: 60_000, sync: Sync::Never, ..Options::default() }
}

fn cut_out(path: &Path, when: TimeRange, anonymous: bool) -> (Cut, Vec<u8>) {
    let mut bytes = Vec::new();
    let recording = Recording::open(path).expect("a recording");
    let told = cut(recording, when, anonymous, &mut bytes).expect("cut");
    assert_eq!(told.bytes, bytes.len() as u64);
    (told, bytes)
}

fn saved(dir: &Path, bytes: &[u8]) -> PathBuf {
    let path = dir.join("part.rec");
    std::fs::write(&path, bytes).expect("a file");
    let verified = exactop_recording::verify(&path).expect("readable");
    assert!(verified.is_whole() && verified.files[0].sealed, "{verified:?}");
    path
}

/// A cut of the whole recording, as a file in `dir`.
pub fn whole(path: &Path, anonymous: bool, dir: &Path) -> PathBuf {
    saved(dir, &cut_out(path, TimeRange::default(), anonymous).1)
}

fn end_of(shown: &Shown, live: &Live) -> Option<i128> {
    Some(i128::from(shown.frames[0].t1_ns) + i128::from(live.wall_offset_ns))
}

#[test]
fn a_cut_has_the_figures_of_the_recording() {
    for complete in [false, true] {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("recording");
        let mut live = Live::new(21, complete);
        let mut recorder = Recorder::open(&path, machine("boot"), options()).expect("a recorder");
        let shown: Vec<Shown> = (0..=200).filter_map(|_| live.window(&mut recorder)).collect();
        drop(recorder);
        for (first, last) in [(0, 199), (1, 2), (63, 64), (70, 199), (130, 130)] {
            let from = end_of(&shown[first], &live).map(|ns| ns - 1);
            let when = TimeRange { from, to: end_of(&shown[last], &live) };
            let (told, bytes) = cut_out(&path, when, false);
            assert_eq!((told.windows, told.gaps), ((last - first + 1) as u64, 0));
            let (windows, gaps) = all(&saved(dir.path(), &bytes));
            assert!(gaps.is_empty());
            assert!(windows == shown[first..=last], "{first} to {last}");
        }
    }
}

#[test]
fn details_read_earlier_are_in_the_cut() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let mut recorder = Recorder::open(&path, machine("boot"), options()).expect("a recorder");
    let mut book = Book::new();
    let mut ends = Vec::new();
    for n in 0..=20 {
        let now = exactop_testkit::snapshot(SourceKind::Ledger, n, None);
        recorder.record(&now, &book, Clocks { wall_offset_ns: 0, suspended_ns: 0 });
        let Some(window) = book.advance(now) else { continue };
        ends.push(i128::from(window.t1_ns));
        // Details are read once, at the beginning.
        for row in &mut Frame::new(&window, &book, &FrameOptions::default()).rows {
            row.detail.user = Ok(format!("user{}", row.ident.uid));
            if n == 1 {
                recorder.details(row);
            }
        }
        recorder.settle();
    }
    drop(recorder);
    let (told, bytes) = cut_out(&path, TimeRange { from: Some(ends[9]), to: None }, false);
    assert_eq!(told.windows, 10);
    let mut part = open(&saved(dir.path(), &bytes));
    assert_eq!(part.forward().expect("readable"), ReplayStep::Window);
    let mut frame = part.same_frame(&Ask::default()).expect("a window");
    part.details(&mut frame.rows.iter_mut().collect::<Vec<_>>(), Needs::USER);
    assert!(!frame.rows.is_empty());
    for row in &frame.rows {
        assert_eq!(row.detail.user, Ok(format!("user{}", row.ident.uid)));
    }
}

#[test]
fn gaps_stay_and_a_boot_ends_the_cut() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let mut live = Live::new(22, false);
    let record = |live: &mut Live, boot: &str| -> Vec<Shown> {
        let mut recorder = Recorder::open(&path, machine(boot), options()).expect("a recorder");
        (0..=5).filter_map(|_| live.window(&mut recorder)).collect()
    };
    let mut shown = record(&mut live, "boot");
    live.world.at_ns += 60_000_000_000;
    live.book = Book::new();
    shown.extend(record(&mut live, "boot"));
    record(&mut Live::new(23, true), "another");
    let (told, bytes) = cut_out(&path, TimeRange::default(), false);
    assert_eq!((told.windows, told.gaps, told.boot.is_some()), (10, 1, true));
    let (windows, gaps) = all(&saved(dir.path(), &bytes));
    assert_eq!(windows, shown);
    assert_eq!(gaps.len(), 1);
    assert_eq!(gaps[0].why, GapReason::NotRunning);
    let (told, _) = cut_out(&path, TimeRange { from: Some(i128::MAX), to: None }, false);
    assert_eq!(told, Cut::default(), "there is nothing");
}

const READ: [&str; 6] =
    ["SECRETCMD", "hunter2", "alice.secret", "gone.secret", "corp-secret", "payroll-secret"];

/// Records the made-up machine, with details of every task.
fn with_names(path: &Path) {
    let about = exactop_recording::Machine {
        host: "secret-host".into(),
        boot_id: "0f1e2d3c-secret".into(),
        kernel: "6.18.0-secretcorp".into(),
        ..machine("boot")
    };
    let mut recorder = Recorder::open(path, about, options()).expect("a recorder");
    let mut book = Book::new();
    for n in 0..=70 {
        let mut now = exactop_testkit::snapshot(SourceKind::Ledger, n, None);
        now.provenance.reason = Some("secret-reason".into());
        recorder.record(&now, &book, Clocks { wall_offset_ns: 0, suspended_ns: 0 });
        let Some(window) = book.advance(now) else { continue };
        for row in &mut Frame::new(&window, &book, &FrameOptions::default()).rows {
            row.detail.cmdline = Ok(b"SECRETCMD\0--password=hunter2".to_vec());
            row.detail.user = Ok("alice.secret".into());
            row.detail.cgroup = Ok(b"/corp-secret.slice/payroll-secret.service".to_vec());
            recorder.details(row);
        }
        recorder.user(4_000_000_000, "gone.secret");
        recorder.settle();
    }
}

/// Payload of the header, and all later bytes: as they are, and decompressed.
fn unpacked(bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut header, mut frames, mut at) = (Vec::new(), Vec::new(), 8);
    while at < bytes.len() {
        let stored = u32::from_le_bytes(bytes[at + 40..at + 44].try_into().expect("4 bytes"));
        let payload = &bytes[at + 56..][..stored as usize];
        let payload = match bytes[at + 5] & 1 {
            0 => payload.to_vec(),
            _ => zstd::decode_all(payload).expect("zstd"),
        };
        let end = at + 56 + stored as usize + 4;
        match at {
            8 => header = payload,
            _ => frames.extend([&payload, &bytes[at..end]].concat()),
        }
        at = end;
    }
    (header, frames)
}

fn holds(bytes: &[u8], name: &str) -> bool {
    bytes.windows(name.len()).any(|window| window == name.as_bytes())
}

#[test]
fn no_name_is_left_in_the_bytes_of_an_anonymous_cut() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    with_names(&path);
    let commands = PROCESSES.iter().map(|p| p.comm).chain(EXITED.iter().map(|group| group.1));
    // Two letters may occur by chance; the names below are longer.
    let long: Vec<String> = commands
        .clone()
        .filter(|name| name.len() > 3)
        .map(|n| n.chars().take(15).collect())
        .collect();
    let names = || long.iter().map(String::as_str).chain(READ).chain(["secret-reason"]);
    let (_, open_bytes) = cut_out(&path, TimeRange::default(), false);
    let (header, frames) = unpacked(&open_bytes);
    // The kernel keeps 15 bytes of a long name.
    let kept = |name: &&str| name.len() <= 15 && name.is_ascii();
    for name in names().filter(kept).filter(|name| *name != "kthreadd") {
        assert!(holds(&frames, name), "'{name}' was there before");
    }
    assert!(holds(&header, "secret-host") && holds(&header, "secretcorp"));

    let (told, bytes) = cut_out(&path, TimeRange::default(), true);
    assert_eq!(told.windows, 70);
    let (header, frames) = unpacked(&bytes);
    for name in names().chain(["secret"]) {
        assert!(!holds(&frames, name), "'{name}' is left");
    }
    for name in ["secret", "made-up", "0f1e2d3c"] {
        assert!(!holds(&header, name), "'{name}' is left in the header");
    }
    let (part, ask) = (saved(dir.path(), &bytes), Ask::default());
    let (mut before, mut after) = (open(&path), open(&part));
    let all: Vec<&str> = commands.collect();
    for _ in 0..70 {
        let frames = [&mut before, &mut after].map(|replay| {
            replay.forward().expect("readable");
            replay.same_frame(&ask).expect("a window")
        });
        assert_eq!(frames[0].books, frames[1].books, "figures are what they were");
        assert_eq!(frames[0].rows.len(), frames[1].rows.len());
        for row in &frames[1].rows {
            assert!(!all.contains(&&*row.ident.comm.to_string()), "{:?}", row.ident);
        }
    }
}
