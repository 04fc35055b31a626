//! A window is exact only if the books of each CPU balance, not just their sum.

use crate::drawn;
use exactop_model::{Book, Snapshot, SourceKind};
use exactop_recording::{Clocks, Options, Recorder, Recording, Sync, TimeRange};
use exactop_sums::{Grouping, Stretch};
use exactop_testkit::samples;

const SECOND: u64 = 1_000_000_000;

#[test]
fn residuals_of_two_cpus_do_not_cancel() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let options = Options { sync: Sync::Never, ..Options::default() };
    let mut recorder = Recorder::open(&path, drawn::machine(), options).expect("a recorder");
    let mut book = Book::new();
    for n in 0..4 {
        let mut now: Snapshot = samples::snapshot(SourceKind::Ledger, (10 + n) * SECOND);
        now.cpus = [0, 1].map(samples::cpu).to_vec();
        now.cpus.iter_mut().for_each(|cpu| cpu.idle_ns = n * SECOND);
        if n >= 2 {
            now.cpus[0].idle_ns -= 100;
            now.cpus[1].idle_ns += 100;
        }
        recorder.record(&now, &book, Clocks { wall_offset_ns: 0, suspended_ns: 0 });
        book.advance(now);
    }
    drop(recorder);
    let recording = Recording::open(&path).expect("it");
    let stretch =
        Stretch::read(recording, TimeRange::default(), Grouping::Command, None).expect("it");
    assert_eq!((stretch.windows, stretch.accounts.residual_ns), (3, 0));
    assert_eq!(stretch.inexact, 1);
}
