//! The name of a process whose leader no source sees is recorded once and in each keyframe, and an
//! anonymous cut masks it.

use crate::cut::whole;
use crate::world::machine;
use exactop_model::{Book, Comm, Counter, Ident, Snapshot, SourceKind, TaskKey};
use exactop_recording::{Clocks, Options, Recorder, Recording, Sync, TimeRange, Windows};
use exactop_testkit::samples;
use std::path::Path;

const SECOND: u64 = 1_000_000_000;
/// More than the distance of keyframes.
const WINDOWS: u64 = 200;

fn at(seconds: u64) -> Snapshot {
    let ident = Ident { comm: Comm::new(b"worker"), ..Ident::default() };
    let mut thread = samples::task(8, TaskKey { tgid: 7, tid: 8, start_ns: 1 }, ident);
    thread.counters.set(Counter::RunNs, seconds);
    Snapshot {
        tasks: vec![thread],
        leader_names: if seconds == 1 { vec![(7, Comm::new(b"hidden"))] } else { Vec::new() },
        complete: seconds == 1,
        ..samples::snapshot(SourceKind::Ledger, seconds * SECOND)
    }
}

/// The names of the process in all windows that end after this time.
fn names(path: &Path, from: Option<i128>) -> Vec<String> {
    let recording = Recording::open(path).expect("a recording");
    let when = TimeRange { from, to: None };
    let mut windows = Windows::from_recording(recording, when).expect("windows");
    let mut names = Vec::new();
    while windows.advance().expect("readable") {
        let leader = windows.replay().book().leader_of(7).expect("a process");
        names.push(leader.ident.comm.to_string());
    }
    names
}

#[test]
fn each_window_has_the_name_that_the_first_one_was_given() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("log");
    let options = Options { sync: Sync::Never, ..Options::default() };
    let mut recorder = Recorder::open(&path, machine("boot"), options).expect("a recorder");
    let mut book = Book::new();
    for seconds in 1..=WINDOWS {
        let now = at(seconds);
        recorder.record(&now, &book, Clocks { wall_offset_ns: 0, suspended_ns: 0 });
        book.advance(now);
    }
    drop(recorder);
    let all = names(&path, None);
    assert_eq!(all.len() as u64, WINDOWS - 1);
    assert!(all.iter().all(|name| name == "hidden"), "{all:?}");
    let last = names(&path, Some(i128::from((WINDOWS - 3) * SECOND)));
    assert!(!last.is_empty() && last.iter().all(|name| name == "hidden"), "{last:?}");
    let masked = names(&whole(&path, true, dir.path()), None);
    assert!(!masked.is_empty() && masked.iter().all(|name| name.starts_with("cmd")), "{masked:?}");
}
