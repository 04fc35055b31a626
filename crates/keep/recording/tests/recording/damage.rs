//! Whatever becomes of a file's bytes, nothing panics and no figure is wrong: a window is as it was,
//! or it is a gap.

use crate::world::{self, machine, Live, Shown};
use exactop_fuzzing::{corpus, Target};
use exactop_recording::{verify, Moved, Options, Reader, Recorder, Replay, Sync};
use std::path::{Path, PathBuf};

/// A small recording in one file, with what was shown live.
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

/// A new file: to cut an old one short and write it again makes some file systems wait for the disk.
fn put(path: &Path, bytes: &[u8]) {
    let _ = std::fs::remove_file(path);
    std::fs::write(path, bytes).expect("a copy");
}

/// What is left of a recording.
#[derive(Default)]
struct Left {
    windows: usize,
    /// From the first window or gap to the last, ns.
    told_ns: u64,
}

/// What is left, which must be as it was: each window once, in order, and gaps as long as what is
/// missing between, before and after.
fn check(path: &Path, shown: &[Shown]) -> Left {
    // One that cannot be opened at all tells nothing wrong.
    let Ok(report) = verify(path) else { return Left::default() };
    let mut replay = world::open(path);
    let (mut left, mut from, mut reached) = (Left::default(), 0, None);
    loop {
        let (begin, end) = match replay.forward().expect("readable") {
            Moved::End => break,
            Moved::Gap(gap) => {
                let length = (gap.to_wall_ns - gap.from_wall_ns) as u64;
                assert_eq!(gap.length_ns, Some(length), "one boot, a clock that nobody sets");
                (gap.from_wall_ns, gap.to_wall_ns)
            }
            Moved::Window => {
                let span = replay.span().expect("a window");
                let window = world::replayed(&mut replay);
                let at = shown.iter().position(|shown| shown.frames[0].t1_ns == span.t1_ns);
                let at = at.expect("a window that was there");
                assert!(at >= from, "never twice");
                from = at + 1;
                assert_eq!(window.frames, shown[at].frames);
                for (row, as_shown) in window.rows.iter().zip(&shown[at].rows) {
                    // What was read beside may be missing or of an earlier window; memory never is.
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
    left
}

/// All the time there was.
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
        // What is cut off tells of no time; up to there nothing is missing.
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
        let Ok(report) = verify(&copy) else {
            lost += 1;
            continue;
        };
        assert!(!report.is_whole(), "byte {at} is not noticed");
        let left = check(&copy, &shown);
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
            // What is missing at an end is told by nothing; between, windows + gaps are all there was.
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

/// Whoever follows a recorder sees a frame in the middle of its being written, and all files that it knew removed.
#[test]
fn who_follows_waits_for_what_is_not_whole_and_goes_on_behind_what_was_removed() {
    let (_dir, file, shown) = small();
    let whole = std::fs::read(&file).expect("a file");
    // Behind the header, which is most of a small one.
    let cut = whole.len() * 9 / 10;
    put(&file, &whole[..cut]);
    let above = file.parent().expect("a directory");
    let recording = exactop_recording::Recording::open(above).expect("a recording");
    let mut replay = Replay::new(Reader::following(recording));
    let mut windows = 0;
    let mut read = |replay: &mut Replay| loop {
        match replay.forward().expect("readable") {
            Moved::Window => windows += 1,
            Moved::End => return windows,
            Moved::Gap(gap) => panic!("{gap:?}"),
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
    // Another reader knows a file that is not there any more by the time it is opened.
    let recording = exactop_recording::Recording::open(above).expect("a recording");
    std::fs::rename(&file, above.join("exactop-00000002.rec")).expect("renamed");
    let mut replay = Replay::new(Reader::following(recording));
    let mut windows = 0;
    while replay.forward().expect("readable") == Moved::Window {
        windows += 1;
    }
    assert_eq!(windows, shown.len());
}
