//! A seek costs the same however long the recording is, counted in bytes read.

use exactop_model::feed::timeline::{Direction, Timeline, Travel};
use exactop_model::{Book, SourceKind};
use exactop_recording::{Clocks, Machine, Options, Playback, Recorder, Recording, Sync};
use std::path::Path;

/// Bytes that this thread has read so far (proc_pid_io(5)).
fn bytes_read() -> u64 {
    let io = std::fs::read_to_string("/proc/thread-self/io").expect("/proc");
    let line = io.lines().find_map(|line| line.strip_prefix("rchar: ")).expect("rchar");
    line.parse().expect("a number")
}

/// Bytes that a function reads, and its result.
fn reading<T>(what: impl FnOnce() -> T) -> (u64, T) {
    let before = bytes_read();
    let result = what();
    (bytes_read() - before, result)
}

struct Cost {
    files: u64,
    whole: u64,
    /// Most bytes read by one seek.
    jump: u64,
    open: u64,
}

fn cost(path: &Path, windows: u64) -> Cost {
    let options = Options { file_bytes: 60_000, sync: Sync::Never, ..Options::default() };
    let mut recorder = Recorder::open(path, Machine::this("far"), options).expect("a recorder");
    let mut book = Book::new();
    for beat in 0..=windows {
        let mut now = exactop_testkit::snapshot(SourceKind::Ledger, beat, None);
        now.complete = beat == 0;
        recorder.record(&now, &book, Clocks { wall_offset_ns: 1 << 60, suspended_ns: 0 });
        book.advance(now);
    }
    let whole = recorder.bytes();
    drop(recorder);
    let (open, mut playback) = reading(|| {
        let recording = Recording::open(path).expect("a recording");
        Playback::new(recording, None).expect("readable").expect("windows")
    });
    let (begin, end) = playback.place().bounds();
    let mut jump = 0;
    let files = playback.place().recorded.len() as u64;
    for n in 1..40 {
        // Back and forth all over the recording.
        let to = begin + (end - begin) * (n * 17 % 40) / 40;
        let (read, noted) = reading(|| playback.travel(Travel::To(to)));
        noted.expect("readable");
        let (back, noted) = reading(|| playback.travel(Travel::By(Direction::Back, 1)));
        noted.expect("readable");
        jump = jump.max(read).max(back);
    }
    Cost { files, whole, jump, open }
}

#[test]
fn a_seek_reads_one_file_at_most() {
    let dir = tempfile::tempdir().expect("a directory");
    let small = cost(&dir.path().join("small"), 300);
    let large = cost(&dir.path().join("large"), 3000);
    assert!(large.files > 5 * small.files && small.files > 1, "{}", large.files);
    // One window back from the beginning of a file reads the file before, too.
    assert!(large.jump < 2 * small.jump, "{} {}", large.jump, small.jump);
    assert!(large.jump < 4 * large.whole / large.files, "{} of {}", large.jump, large.whole);
    // Opening reads the header and the first and last frames of each file.
    let each = |cost: &Cost| cost.open / cost.files;
    assert!(each(&large) < 2 * each(&small), "{} {}", each(&large), each(&small));
}
