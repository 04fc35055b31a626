//! A recording of the incident in `docs/tutorials/incident.md`: the same times, names and shares of the CPUs.

use exactop_model::blame::{Blame, Booked, Culprit, Party, Waits};
use exactop_model::ledger::snapshot::ProcessRef;
use exactop_model::{
    Book, Comm, Counter, CpuSample, ExitSample, Ident, Snapshot, SourceKind, TaskKey, TaskSample,
};
use exactop_recording::{Clocks, Machine, Options, Recorder, Sync};
use exactop_testkit::samples;
use std::path::Path;

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
const BEGIN: &str = "2026-11-27T00:52:50Z";
const WINDOWS: u64 = 173;
/// The window in which the incident begins, at 00:54:00.
const INCIDENT: u64 = 70;
const CPUS: u64 = 2;

/// Names of tasks, and their CPU time before and during the incident, ms a second.
const TASKS: [(&str, u64, u64); 6] = [
    ("indexer", 165, 151),
    ("pricing", 151, 138),
    ("exactop", 2, 3),
    ("kdamond.0", 3, 3),
    ("watchdog", 1, 1),
    ("backup", 0, 1400),
];
/// Names of children of the watchdog that exit, and their CPU time, ms a second.
const CHILDREN: [(&str, u64, u64); 3] = [("healthcheck", 4, 74), ("cat", 1, 6), ("sleep", 11, 31)];
const WATCHDOG: u32 = 104;

fn machine() -> Machine {
    Machine {
        host: "shop".into(),
        boot_id: "6a1a2e53-0f35-4c0f-8f6c-1f1e0b6a7c01".into(),
        kernel: "6.18.44-fc-v669".into(),
        architecture: "x86_64".into(),
        exactop: env!("CARGO_PKG_VERSION").into(),
    }
}

fn tasks() -> Vec<TaskSample> {
    let task = |(n, &(name, ..)): (u32, &(&str, u64, u64))| {
        let pid = 100 + n;
        let ident = Ident { comm: Comm::new(name.as_bytes()), ..Ident::default() };
        let key = TaskKey { tgid: pid, tid: pid, start_ns: u64::from(pid) };
        samples::task(u64::from(n), key, ident)
    };
    (0..).zip(&TASKS).map(task).collect()
}

fn exited() -> Vec<ExitSample> {
    let mut ancestors = [ProcessRef::default(); 8];
    ancestors[0] = ProcessRef { tgid: WATCHDOG, start_ns: u64::from(WATCHDOG) };
    let group = |(n, &(name, ..)): (u64, &(&str, u64, u64))| {
        samples::exited(n, ancestors, Comm::new(name.as_bytes()))
    };
    (100..).zip(&CHILDREN).map(group).collect()
}

/// The CPU time in a window: within a tenth of the mean, and not always the same.
fn used((name, before, during): (&str, u64, u64), window: u64) -> u64 {
    let mean = if window < INCIDENT { before } else { during } * MS;
    mean * (95 + (window * 7 + name.len() as u64 * 3) % 11) / 100
}

fn cpu(number: u32, task_ns: u64, windows: u64) -> CpuSample {
    let irq = 8 * MS * windows;
    CpuSample {
        task_ns: (task_ns + u64::from(number)) / CPUS,
        irq_ns: Some(irq),
        irq_idle_ns: Some(irq),
        idle_ns: SECOND * windows - (task_ns + u64::from(number)) / CPUS - irq,
        ..samples::cpu(number)
    }
}

/// The waits of `pricing` in a window: behind itself at first, then behind `backup`.
fn blame(window: u64) -> Blame {
    let party = |name: &str| Party {
        cgroup_id: 0,
        uid: 0,
        session: 0,
        comm: Comm::new(name.as_bytes()),
        kthread: false,
    };
    let (culprit, ns) = if window < INCIDENT { ("pricing", MS) } else { ("backup", 73 * MS) };
    let waits = Waits { lat_ns: ns as i64, dispatches: 35, in_flight_delta_ns: 0 };
    let mut blame = Blame::default();
    blame.wait(Some(party("pricing")), waits);
    let booked = Booked { ns, times: 35 };
    blame.book(Some(party("pricing")), Culprit::Task(party(culprit)), booked);
    blame
}

/// Records the incident there.
pub fn record(path: &Path) {
    let options = Options { sync: Sync::Never, ..Options::default() };
    let mut recorder = Recorder::open(path, machine(), options).expect("a recorder");
    let begin: jiff::Timestamp = BEGIN.parse().expect("a time");
    let uptime = 1_000 * SECOND;
    let wall_offset_ns = begin.as_nanosecond() as i64 - uptime as i64;
    let (mut book, mut tasks, mut exited, mut all) = (Book::new(), tasks(), exited(), 0);
    for n in 0..=WINDOWS {
        let mut now: Snapshot = samples::snapshot(SourceKind::Ledger, uptime + n * SECOND);
        if n > 0 {
            for (task, of) in tasks.iter_mut().zip(TASKS) {
                task.counters.bump(Counter::RunNs, used(of, n));
                all += used(of, n);
            }
            for (group, of) in exited.iter_mut().zip(CHILDREN) {
                let runs = if n >= INCIDENT { 4 } else { u64::from(n % 4 == 0) };
                group.counters.bump(Counter::RunNs, used(of, n));
                (group.processes, group.tasks) = (group.processes + runs, group.tasks + runs);
                all += used(of, n);
            }
        }
        now.tasks = tasks.clone();
        if n < INCIDENT {
            now.tasks.retain(|task| task.ident.comm != Comm::new(b"backup"));
        }
        (now.complete, now.exited, now.blame) = (false, exited.clone(), Some(blame(n)));
        now.cpus = (0..CPUS as u32).map(|number| cpu(number, all, n)).collect();
        recorder.record(&now, &book, Clocks { wall_offset_ns, suspended_ns: 0 });
        book.advance(now);
    }
}
