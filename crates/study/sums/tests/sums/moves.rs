//! Figures of a task that changes its control group count in the group where they arose.

use crate::drawn;
use exactop_model::{Book, Comm, Counter, Ident, Snapshot, SourceKind, TaskKey};
use exactop_recording::{Clocks, Options, Recorder, Recording, Sync, TimeRange};
use exactop_sums::{Grouping, Stretch};
use exactop_testkit::samples;

const SECOND: u64 = 1_000_000_000;

#[test]
fn figures_count_in_the_group_where_they_arose() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let options = Options { sync: Sync::Never, ..Options::default() };
    let mut recorder = Recorder::open(&path, drawn::machine(), options).expect("a recorder");
    let mut book = Book::new();
    let ident = Ident { comm: Comm::new(b"mover"), cgroup_id: Some(7), ..Ident::default() };
    let mut task = samples::task(1, TaskKey { tgid: 1, tid: 1, start_ns: 1 }, ident);
    let used = [
        (Counter::RunNs, 500),
        (Counter::LatNs, 300),
        (Counter::ThrottleNs, 200),
        (Counter::Dispatches, 10),
    ];
    for n in 0..3 {
        let mut now: Snapshot = samples::snapshot(SourceKind::Ledger, (10 + n) * SECOND);
        now.complete = false;
        if n > 0 {
            used.iter().for_each(|&(counter, ns)| task.counters.bump(counter, ns));
        }
        if n == 2 {
            task.ident.cgroup_id = Some(8);
            let before = [
                (Counter::RunNs, 400),
                (Counter::LatNs, 100),
                (Counter::ThrottleNs, 150),
                (Counter::Dispatches, 3),
            ];
            now.moves = vec![samples::moved(7, 8, before)];
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
        let counters = [Counter::LatNs, Counter::ThrottleNs, Counter::Dispatches];
        (row.sum.run_ns, counters.map(counter))
    };
    assert_eq!(of("group 7"), (900, [400, 350, 13]));
    assert_eq!(of("group 8"), (100, [200, 50, 7]));
}
