//! Waits of a task that changes its control group count in the group where they happened.

use crate::drawn;
use exactop_model::ledger::snapshot::GroupMove;
use exactop_model::{Book, Comm, Counter, Ident, Snapshot, SourceKind, TaskKey};
use exactop_recording::{Clocks, Options, Recorder, Recording, Sync, TimeRange};
use exactop_sums::{Grouping, Stretch};
use exactop_testkit::samples;

const SECOND: u64 = 1_000_000_000;

#[test]
fn waits_count_in_the_group_where_they_happened() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let options = Options { sync: Sync::Never, ..Options::default() };
    let mut recorder = Recorder::open(&path, drawn::machine(), options).expect("a recorder");
    let mut book = Book::new();
    let ident = Ident { comm: Comm::new(b"mover"), cgroup_id: Some(7), ..Ident::default() };
    let mut task = samples::task(1, TaskKey { tgid: 1, tid: 1, start_ns: 1 }, ident);
    let used = [(Counter::RunNs, 500), (Counter::LatNs, 300), (Counter::ThrottleNs, 200)];
    for n in 0..3 {
        let mut now: Snapshot = samples::snapshot(SourceKind::Ledger, (10 + n) * SECOND);
        now.complete = false;
        if n > 0 {
            used.iter().for_each(|&(counter, ns)| task.counters.bump(counter, ns));
        }
        if n == 2 {
            task.ident.cgroup_id = Some(8);
            let moved = GroupMove { from: 7, to: 8, run_ns: 400, lat_ns: 100, throttle_ns: 150 };
            now.moves = vec![moved];
        }
        now.tasks = vec![task];
        recorder.record(&now, &book, Clocks { wall_offset_ns: 0, suspended_ns: 0 });
        book.advance(now);
    }
    drop(recorder);
    let recording = Recording::open(&path).expect("it");
    let stretch =
        Stretch::read(recording, TimeRange::default(), Grouping::Cgroup, None).expect("it");
    let of = |group: &str| {
        let row = stretch.rows.iter().find(|row| row.group.name.contains(group)).expect(group);
        let counter = |counter| row.counters.get(counter).expect("known");
        [row.sum.run_ns, counter(Counter::LatNs), counter(Counter::ThrottleNs)]
    };
    assert_eq!(of("group 7"), [900, 400, 350]);
    assert_eq!(of("group 8"), [100, 200, 50]);
}
