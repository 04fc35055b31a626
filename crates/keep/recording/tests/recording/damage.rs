//! Whatever happens to a file's bytes, nothing panics and no figure is wrong: a window is as
//! recorded, or it is a gap.

use crate::world::{self, machine, Live, Shown};
use exactop_fuzzing::{corpus, Target};
use exactop_recording::{verify, Options, Reader, Recorder, Replay, ReplayStep, Sync};
use std::path::{Path, PathBuf};

/// A small recording in one file, and what was shown live. The kept inputs of the fuzz test are of it.
fn small() -> (tempfile::TempDir, PathBuf, Vec<Shown>) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let options = Options { sync: Sync::Never, ..Options::default() };
    let mut recorder = Recorder::open(&path, machine("boot"), options).expect("a recorder");
    let mut live = Live::of(2, false, 6);
    let shown = (0..5).filter_map(|_| live.window(&mut recorder)).collect();
    drop(recorder);
    let file = path.join("exactop-00000001.rec");
    (dir, file, shown)
}

/// Creates a new file: some file systems wait for the disk when an old one is truncated and
/// rewritten.
fn put(path: &Path, bytes: &[u8]) {
    let _ = std::fs::remove_file(path);
    std::fs::write(path, bytes).expect("a copy");
}

/// What is left of a damaged recording.
#[derive(Default)]
struct Left {
    /// False if it was noticed that something is missing or wrong.
    is_whole: bool,
    windows: usize,
    /// From the first window or gap to the last, ns.
    told_ns: u64,
}

/// Checks what is left. A recording that cannot be opened reports no wrong figure.
fn check(path: &Path, shown: &[Shown]) -> Left {
    check_if_readable(path, shown).unwrap_or_default()
}

/// Checks what is left: each window as recorded, once, in order; gaps as long as the time missing
/// before, between and after. `None`: it cannot be opened.
fn check_if_readable(path: &Path, shown: &[Shown]) -> Option<Left> {
    let report = verify(path).ok()?;
    let mut replay = world::open(path);
    let (mut left, mut from, mut reached) = (Left::default(), 0, None);
    loop {
        let (begin, end) = match replay.forward().expect("readable") {
            ReplayStep::End => break,
            ReplayStep::Gap(gap) => {
                let length = (gap.to_wall_ns - gap.from_wall_ns) as u64;
                assert_eq!(gap.length_ns, Some(length), "one boot, a clock that is never set");
                (gap.from_wall_ns, gap.to_wall_ns)
            }
            ReplayStep::Window => {
                let span = replay.span().expect("a window");
                let window = world::replayed(&mut replay);
                let at = shown.iter().position(|shown| shown.frames[0].t1_ns == span.t1_ns);
                let at = at.expect("a window that was there");
                assert!(at >= from, "never twice");
                from = at + 1;
                let mut as_shown = shown[at].frames.clone();
                // Files of earlier versions do not state what was dropped, and have no blame book.
                let is_earlier = window.frames[0].provenance.degraded.is_none();
                for shown in as_shown.iter_mut().filter(|_| is_earlier) {
                    shown.provenance.degraded = None;
                    shown.keeps_blame = false;
                }
                assert_eq!(window.frames, as_shown);
                assert!(is_earlier || window.blame == shown[at].blame, "{:?}", window.blame);
                for (row, as_shown) in window.rows.iter().zip(&shown[at].rows) {
                    // Details may be missing or of an earlier window; memory never is of an earlier
                    // one.
                    let fresh = row.detail.virt.is_err() || row.detail == as_shown.detail;
                    assert!(fresh, "{row:?}");
                }
                left.windows += 1;
                (span.wall_t0_ns(), span.wall_t1_ns())
            }
        };
        assert_eq!(*reached.get_or_insert(begin), begin, "one goes on where the other ends");
        reached = Some(end);
        left.told_ns += (end - begin) as u64;
    }
    assert_eq!(report.windows as usize, left.windows);
    left.is_whole = report.is_whole();
    Some(left)
}

/// All recorded time, ns.
fn elapsed(shown: &[Shown]) -> u64 {
    shown[shown.len() - 1].frames[0].t1_ns - shown[0].frames[0].t0_ns
}

#[test]
fn cut_at_every_byte() {
    let (dir, file, shown) = small();
    let bytes = std::fs::read(&file).expect("the file");
    assert_eq!(check(&file, &shown).windows, shown.len());
    let copy = dir.path().join("copy");
    let mut most = 0;
    for length in 0..bytes.len() {
        put(&copy, &bytes[..length]);
        let left = check(&copy, &shown);
        assert!(left.windows >= most, "more bytes, fewer windows");
        most = left.windows;
        // Truncated frames report no time; up to them nothing is missing.
        let told: u64 = shown[..most].iter().map(|window| window.frames[0].length_ns()).sum();
        assert_eq!(left.told_ns, told, "{length} bytes: windows + gaps");
    }
    assert_eq!(most, shown.len(), "the seal is no figure");
}

#[test]
fn flipped_at_every_byte() {
    let (dir, file, shown) = small();
    let bytes = std::fs::read(&file).expect("the file");
    let copy = dir.path().join("copy");
    let mut lost = 0;
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        put(&copy, &damaged);
        let Some(left) = check_if_readable(&copy, &shown) else {
            lost += 1;
            continue;
        };
        assert!(!left.is_whole, "byte {at} is not noticed");
        assert_eq!(left.told_ns, elapsed(&shown), "byte {at}: windows + gaps");
        lost += usize::from(left.windows < shown.len());
    }
    assert!(lost > bytes.len() / 2, "most bytes matter: {lost} of {}", bytes.len());
}

#[test]
fn pieces_missing_or_in_another_order() {
    let (dir, file, shown) = small();
    let bytes = std::fs::read(&file).expect("the file");
    let copy = dir.path().join("copy");
    let sectors: Vec<&[u8]> = bytes.chunks(512).collect();
    for at in 0..sectors.len() {
        let mut zeroed = bytes.clone();
        zeroed[at * 512..(at * 512 + 512).min(bytes.len())].fill(0);
        let mut swapped = sectors.clone();
        swapped.swap(at, (at + 3) % sectors.len());
        let mut without = sectors.clone();
        without.remove(at);
        for damaged in [zeroed, swapped.concat(), without.concat()] {
            put(&copy, &damaged);
            let left = check(&copy, &shown);
            // Time missing at an end is not reported; between the ends, windows and gaps cover all
            // time.
            assert!(left.told_ns <= elapsed(&shown));
            let all: u64 = shown.iter().map(|window| window.frames[0].length_ns()).sum();
            let missing_ns = (all - left.told_ns) as usize;
            assert!(missing_ns == 0 || left.windows < shown.len(), "sector {at}");
        }
    }
}

#[test]
fn fuzz_recording() {
    let (dir, file, shown) = small();
    let bytes = std::fs::read(&file).expect("the file");
    let copy = dir.path().join("copy");
    Target::new(corpus!("recording")).examples([bytes]).words(["EXfr"]).cases(300).run(|bytes| {
        put(&copy, bytes);
        check(&copy, &shown);
    });
}

/// A reader that follows a recorder sees a partial frame, and the removal of all files that it
/// knew.
#[test]
fn a_following_reader_waits_for_partial_frames_and_passes_removed_files() {
    let (_dir, file, shown) = small();
    let whole = std::fs::read(&file).expect("a file");
    // After the header, which is most of a small file.
    let cut = whole.len() * 9 / 10;
    put(&file, &whole[..cut]);
    let above = file.parent().expect("a directory");
    let recording = exactop_recording::Recording::open(above).expect("a recording");
    let mut replay = Replay::new(Reader::following(recording));
    let mut windows = 0;
    let mut read = |replay: &mut Replay| loop {
        match replay.forward().expect("readable") {
            ReplayStep::Window => windows += 1,
            ReplayStep::End => return windows,
            ReplayStep::Gap(gap) => panic!("{gap:?}"),
        }
    };
    let before = read(&mut replay);
    for length in [cut + 3, whole.len() - 1, whole.len()] {
        let more = std::fs::OpenOptions::new().append(true).open(&file).expect("a file");
        let there = more.metadata().expect("a length").len() as usize;
        std::io::Write::write_all(&mut &more, &whole[there..length]).expect("written");
        read(&mut replay);
    }
    assert!(before < shown.len());
    assert_eq!(read(&mut replay), shown.len());
    // Another reader opens a file that was removed meanwhile.
    let recording = exactop_recording::Recording::open(above).expect("a recording");
    std::fs::rename(&file, above.join("exactop-00000002.rec")).expect("renamed");
    let mut replay = Replay::new(Reader::following(recording));
    let mut windows = 0;
    while replay.forward().expect("readable") == ReplayStep::Window {
        windows += 1;
    }
    assert_eq!(windows, shown.len());
}
