//! By command, the kernel's workers are one row for each pool; a process that only has a worker's
//! name is not.

use crate::drawn;
use exactop_model::ledger::snapshot::ProcessRef;
use exactop_model::{
    Book, Comm, Counter, ExitSample, Ident, Snapshot, SourceKind, TaskKey, TaskSample,
};
use exactop_recording::{Clocks, Options, Recorder, Recording, Sync, TimeRange};
use exactop_sums::{Grouping, Stretch};
use exactop_testkit::samples;
use std::collections::BTreeMap;
use std::path::Path;

const SECOND: u64 = 1_000_000_000;
/// PID of kthreadd, and of a shell.
const KTHREADD: u32 = 2;
const SHELL: u32 = 900;

/// Living tasks: name, kernel thread or not, and CPU time in a window. Every subset has a different
/// sum.
const ALIVE: [(&str, bool, u64); 11] = [
    ("kthreadd", true, 1),
    ("bash", false, 2),
    ("kworker/0:1", true, 4),
    ("kworker/1:2", true, 8),
    ("kworker/1:7-even", true, 16),
    ("kworker/1:1H-kb", true, 32),
    ("kworker/u8:3", true, 64),
    ("kworker/u9:1", true, 128),
    ("kworker/R-netns", true, 256),
    ("kworker/0:1", false, 512),
    ("kworker/dying", false, 1024),
];
/// Exited tasks: name, parent, and CPU time.
const EXITED: [(&str, u32, u64); 3] =
    [("kworker/dying", KTHREADD, 2048), ("kworker/dying", SHELL, 4096), ("true", KTHREADD, 8192)];

fn alive() -> Vec<TaskSample> {
    let task = |(n, &(name, kthread, _)): (usize, &(&str, bool, u64))| {
        let pid = match n {
            0 => KTHREADD,
            1 => SHELL,
            _ => 10 + n as u32,
        };
        let ident = Ident { comm: Comm::new(name.as_bytes()), kthread, ..Ident::default() };
        samples::task(n as u64, TaskKey { tgid: pid, tid: pid, start_ns: u64::from(pid) }, ident)
    };
    ALIVE.iter().enumerate().map(task).collect()
}

fn exited() -> Vec<ExitSample> {
    let group = |(n, &(name, parent, _)): (usize, &(&str, u32, u64))| {
        let mut ancestors = [ProcessRef::default(); 8];
        ancestors[0] = ProcessRef { tgid: parent, start_ns: u64::from(parent) };
        samples::exited(100 + n as u64, ancestors, Comm::new(name.as_bytes()))
    };
    EXITED.iter().enumerate().map(group).collect()
}

fn record(path: &Path, windows: u64) {
    let options = Options { sync: Sync::Never, ..Options::default() };
    let mut recorder = Recorder::open(path, drawn::machine(), options).expect("a recorder");
    let (mut book, mut tasks, mut gone) = (Book::new(), alive(), exited());
    for n in 0..=windows {
        let mut now: Snapshot = samples::snapshot(SourceKind::Ledger, (10 + n) * SECOND);
        if n > 0 {
            let used = tasks.iter_mut().zip(ALIVE);
            used.for_each(|(task, (.., ns))| task.counters.bump(Counter::RunNs, ns));
            for (group, (.., ns)) in gone.iter_mut().zip(EXITED) {
                group.counters.bump(Counter::RunNs, ns);
                (group.processes, group.tasks) = (group.processes + 1, group.tasks + 1);
            }
        }
        (now.complete, now.tasks, now.exited) = (false, tasks.clone(), gone.clone());
        recorder.record(&now, &book, Clocks { wall_offset_ns: 0, suspended_ns: 0 });
        book.advance(now);
    }
}

fn totals(path: &Path, by: Grouping) -> BTreeMap<String, u64> {
    let recording = Recording::open(path).expect("it");
    let stretch = Stretch::read(recording, TimeRange::default(), by, None).expect("it");
    stretch.rows.iter().map(|row| (row.group.to_string(), row.sum.run_ns)).collect()
}

#[test]
fn a_pool_is_one_row_for_all_names_of_its_workers() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    record(&path, 3);
    let expected = [
        ("kthreadd", 1),
        ("bash", 2),
        ("kworker (each CPU's)", 4 + 8 + 16),
        ("kworker (each CPU's, high priority)", 32),
        ("kworker (unbound)", 64 + 128),
        ("kworker (exited, of any pool)", 2048),
        ("kworker/R-netns", 256),
        ("kworker/0:1", 512),
        // The living one and the shell's child.
        ("kworker/dying", 1024 + 4096),
        ("true", 8192),
    ];
    let expected = expected.map(|(name, ns)| (name.to_string(), 3 * ns));
    assert_eq!(totals(&path, Grouping::Command), BTreeMap::from(expected));
    let all = 3 * ((1 << 14) - 1);
    assert_eq!(totals(&path, Grouping::Command).values().sum::<u64>(), all);
    // By process each keeps its own time.
    let single = totals(&path, Grouping::Process);
    assert_eq!(single["kworker/0:1 (12)"], 3 * 4);
    assert_eq!(single.values().sum::<u64>(), all);
}
