//! A source that restarts under a recorder, as for a reader whose daemon was restarted.

use crate::world::{all, machine, Live, Shown};
use exactop_model::Book;
use exactop_recording::{verify, GapReason, Options, Recorder, Sync};

#[test]
fn time_between_two_ledgers_is_a_gap_and_in_no_window() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let options = Options { sync: Sync::Never, ..Options::default() };
    let mut recorder = Recorder::open(&path, machine("boot"), options).expect("a recorder");
    let mut live = Live::new(41, true);
    let mut shown: Vec<Shown> = (0..4).filter_map(|_| live.window(&mut recorder)).collect();
    live.book = Book::new();
    shown.extend((0..4).filter_map(|_| live.window(&mut recorder)));
    drop(recorder);
    assert_eq!(shown.len(), 6);
    let (windows, gaps) = all(&path);
    assert!(windows == shown, "each window as it was");
    let [gap] = &gaps[..] else { panic!("{gaps:?}") };
    let (before, after) = (&shown[2].frames[0], &shown[3].frames[0]);
    assert_eq!(gap.length_ns, Some(after.t0_ns - before.t1_ns), "{gap:?}");
    assert_eq!(gap.why, GapReason::NotRunning);
    assert!(verify(&path).expect("readable").is_whole());
}
