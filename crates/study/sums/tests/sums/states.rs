//! Tasks without events count all the same: the states of a task in a stretch sum up to its life in
//! it, whether it is in a window's list or not.

use crate::drawn;
use exactop_model::{
    Book, Comm, Counter, CpuSample, Ident, MicroState, Provenance, Quality, Snapshot, SourceKind,
    TaskKey, TaskSample,
};
use exactop_recording::{Clocks, Options, Recorder, Recording, Sync, TimeRange};
use exactop_sums::{Grouping, Stretch, Total};
use exactop_testkit::samples;
use std::path::Path;

const SECOND: u64 = 1_000_000_000;

/// A counter that the source does not measure.
const UNMEASURED: Counter = Counter::BlkioDelayNs;

/// States of a task, each from a second on.
type Script = &'static [(u64, MicroState)];

/// All tasks: name, end, and states. All begin before the first window.
const TASKS: [(&str, u64, Script); 6] = [
    ("sleeper", 99, &[(0, MicroState::Sleep)]),
    ("starved", 99, &[(0, MicroState::Sleep), (12, MicroState::Lat)]),
    (
        "throttled",
        99,
        &[(0, MicroState::Throttle), (15, MicroState::Sleep), (16, MicroState::Throttle)],
    ),
    ("waiter", 99, &[(0, MicroState::Lock)]),
    ("ender", 17, &[(0, MicroState::Block), (13, MicroState::Lat)]),
    ("stopped", 99, &[(0, MicroState::Sleep), (14, MicroState::Stop), (18, MicroState::Sleep)]),
];

struct World {
    at_ns: u64,
    /// The last second in which interrupts are measured.
    irq_until: u64,
    tasks: Vec<(TaskSample, usize)>,
    cpu: CpuSample,
}

impl World {
    fn new(irq_until: u64) -> World {
        let task = |(n, (name, _, script)): (usize, &(&str, u64, Script))| {
            let pid = 100 + n as u32;
            let key = TaskKey { tgid: pid, tid: pid, start_ns: 1 };
            let ident = Ident { comm: Comm::new(name.as_bytes()), ..Ident::default() };
            let state = script[0].1;
            let mut task = TaskSample { state, ..samples::task(n as u64, key, ident) };
            task.counters.forget(UNMEASURED);
            (task, n)
        };
        World {
            at_ns: 10 * SECOND,
            irq_until,
            tasks: TASKS.iter().enumerate().map(task).collect(),
            cpu: samples::cpu(0),
        }
    }

    /// Snapshot a second later, with all tasks or only those that changed.
    fn next(&mut self, all: bool) -> Snapshot {
        if !all {
            self.at_ns += SECOND;
            self.cpu.idle_ns += SECOND;
        }
        let (now, second) = (self.at_ns, self.at_ns / SECOND);
        let (mut listed, mut gone) = (Vec::new(), Vec::new());
        for (task, n) in &mut self.tasks {
            let (_, ends, script) = TASKS[*n];
            // Like the ledger's BPF side: charge up to the change, and from it to now.
            let Some(&(_, next)) = script.iter().find(|(from, _)| !all && *from == second) else {
                if ends == second {
                    gone.push(task.account);
                }
                if all {
                    listed.push(*task);
                }
                continue;
            };
            let since = task.counters.states_ns().expect("all are known");
            let before = now - SECOND / 4 - (10 * SECOND + since);
            bump(task, before);
            task.state = next;
            bump(task, SECOND / 4);
            listed.push(*task);
        }
        self.tasks.retain(|(task, _)| !gone.contains(&task.account));
        let mut snapshot = samples::snapshot(SourceKind::Ledger, now);
        (snapshot.complete, snapshot.tasks, snapshot.gone) = (all, listed, gone);
        let irq_ns = (second <= self.irq_until).then_some(0);
        snapshot.cpus = vec![CpuSample { irq_ns, irq_idle_ns: irq_ns, ..self.cpu }];
        let measured = Counter::ALL.iter().copied().filter(|&counter| counter != UNMEASURED);
        let measured: Vec<Counter> = measured.collect();
        let irq = if irq_ns.is_some() { Quality::Exact } else { Quality::Missing };
        let provenance = snapshot.provenance.with(Quality::Exact, &measured);
        snapshot.provenance = Provenance { irq, ..provenance };
        snapshot
    }
}

fn bump(task: &mut TaskSample, ns: u64) {
    for &counter in task.state.counters() {
        task.counters.bump(counter, ns);
    }
}

fn recorded(path: &Path, windows: usize, irq_until: u64) {
    let options = Options { sync: Sync::Never, ..Options::default() };
    let mut recorder = Recorder::open(path, drawn::machine(), options).expect("a recorder");
    let (mut world, mut book) = (World::new(irq_until), Book::new());
    for n in 0..=windows {
        let now = world.next(n == 0);
        recorder.record(&now, &book, Clocks { wall_offset_ns: 0, suspended_ns: 0 });
        book.advance(now);
    }
    assert_eq!(recorder.notices(), []);
}

fn life(total: &Total) -> u64 {
    total.counters.states_ns().expect("all are known")
}

fn of<'a>(stretch: &'a Stretch, name: &str) -> &'a Total {
    stretch.rows.iter().find(|row| row.group.name == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn the_states_of_a_task_sum_up_to_its_life() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    recorded(&path, 10, 0);
    for by in [Grouping::Command, Grouping::Process] {
        // From 10 s to 20 s, and parts of that.
        for (from, to) in [(10, 20), (11, 20), (13, 16), (15, 18), (19, 20)] {
            let ns = |second: u64| Some(i128::from(second * SECOND));
            let recording = Recording::open(&path).expect("it");
            let when = TimeRange { from: ns(from), to: ns(to) };
            let stretch = Stretch::read(recording, when, by, None).expect("it");
            assert_eq!(stretch.windows, to - from);
            for (name, ends, _) in TASKS {
                if ends <= from {
                    continue;
                }
                // Its exited group counts the window in which it ends.
                let until = if ends <= to { ends - 1 } else { to };
                let row = stretch.rows.iter().find(|row| row.group.name == name);
                let told = row.map_or(0, life);
                assert_eq!(told, (until - from) * SECOND, "{name}, {from} to {to} s");
            }
        }
    }
}

#[test]
fn a_task_that_waits_all_through_has_its_wait() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    recorded(&path, 10, 0);
    let stretch = Stretch::read(
        Recording::open(&path).expect("it"),
        TimeRange::default(),
        Grouping::Command,
        None,
    );
    let stretch = stretch.expect("it");
    let ns = |name, counter| of(&stretch, name).counters.get(counter);
    let quarter = SECOND / 4;
    assert_eq!(ns("starved", Counter::LatNs), Some(8 * SECOND + quarter));
    assert_eq!(ns("throttled", Counter::ThrottleNs), Some(9 * SECOND));
    assert_eq!(ns("waiter", Counter::LockNs), Some(10 * SECOND));
    assert_eq!(ns("sleeper", Counter::SleepNs), Some(10 * SECOND));
    assert_eq!(ns("ender", Counter::LatNs), Some(3 * SECOND + quarter), "up to its last window");
    assert_eq!(ns("stopped", Counter::StopNs), Some(4 * SECOND));
    // They are in the report, though none of them ran.
    let told: serde_json::Value =
        serde_json::from_str(&exactop_sums::report::json(&stretch)).expect("JSON");
    let rows = told["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), TASKS.len());
    assert!(rows.iter().any(|row| row["name"] == "starved" && row["run_ns"] == 0));
}

#[test]
fn a_counter_that_is_not_measured_is_unknown_in_a_row_that_only_slept() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    recorded(&path, 10, 15);
    for (to, irq_ns) in [(15, Some(0)), (20, None)] {
        let when = TimeRange { from: None, to: Some(i128::from(to * SECOND)) };
        let recording = Recording::open(&path).expect("it");
        let stretch = Stretch::read(recording, when, Grouping::Command, None).expect("it");
        let told: serde_json::Value =
            serde_json::from_str(&exactop_sums::report::json(&stretch)).expect("JSON");
        let rows = told["rows"].as_array().expect("rows");
        let sleeper = rows.iter().find(|row| row["name"] == "sleeper").expect("it is there");
        let ns = |counter: Counter| sleeper[counter.info().id].as_u64();
        assert_eq!(ns(Counter::SleepNs), Some((to - 10) * SECOND), "{sleeper}");
        assert_eq!((ns(UNMEASURED), ns(Counter::LockNs)), (None, Some(0)), "{sleeper}");
        assert_eq!(ns(Counter::IrqNs), irq_ns, "up to {to} s: {sleeper}");
    }
}
