//! Figures that are read only on demand: control groups, and the waits, calls and moves of a
//! watched process.

use exactop_model::cgroups::{self, GroupSample, GroupUse, Groups};
use exactop_model::on_demand::losses::Losses;
use exactop_model::on_demand::moves::{Cause, MoveRow, MoveSums, MoveWindow};
use exactop_model::on_demand::syscalls::{Failures, SyscallRow, SyscallWindow, SyscallsBy};
use exactop_model::on_demand::waits::{Latency, OtherShare, Sleep, WaitKind, WaitRow, WaitWindow};
use exactop_model::run::CpuStat;
use exactop_model::{Comm, SyscallNr, TaskRef};

/// Some groups, one of them throttled by its quota: name, CPU time and throttled time, ms.
const GROUPS: [(&str, u64, u64); 4] = [
    ("/", 0, 0),
    ("/user.slice", 1700, 0),
    ("/system.slice", 100, 0),
    ("/system.slice/batch.service", 800, 2900),
];

pub(crate) fn groups((t0_ns, t1_ns): (u64, u64)) -> Groups {
    let sample = |(id, &(name, ms, throttled)): (usize, &(&str, u64, u64))| {
        let below: u64 = GROUPS.iter().filter(|g| g.0.starts_with(name)).map(|g| g.1).sum();
        let all = Some(below * 1_000_000);
        let max = if throttled > 0 { "40000 100000" } else { "max 100000" };
        let sample = GroupSample {
            name: name.into(),
            id: Some(id as u64),
            stat: CpuStat {
                usage_ns: all,
                user_ns: all,
                system_ns: Some(0),
                nr_periods: Some(20),
                nr_throttled: Some(if throttled > 0 { 19 } else { 0 }),
                throttled_ns: Some(0),
            },
            weight: (name != "/").then_some(100),
            max: (name != "/").then(|| max.into()),
            allowed_cpus: (throttled > 0).then_some(0.4),
            processes: Some(7),
            ..GroupSample::default()
        };
        let run_ns = ms * 1_000_000;
        let throttle_ns = throttled * 1_000_000;
        (sample, (id as u64, GroupUse { run_ns, lat_ns: run_ns / 50, throttle_ns, exited: 3 }))
    };
    let (samples, uses): (Vec<_>, _) = GROUPS.iter().enumerate().map(sample).unzip();
    let rows = cgroups::rows(&[], &samples, Some(&uses));
    Groups { t0_ns, t1_ns, cpus: Some(2), no_ledger: None, rows }
}

pub(crate) fn waits(tgid: u32, (t0_ns, t1_ns): (u64, u64)) -> WaitWindow {
    let who = TaskRef::thread(tgid, tgid, Comm::new(b"worker"), Comm::new(b"worker"));
    let sleep = |kind, name: &str, ns| Sleep {
        kind,
        nr: SyscallNr::named(name).expect("a system call"),
        count: 3,
        ns,
        max_ns: Some(ns),
    };
    let mut woken =
        Latency { count: 34, ns: 2_400_000, max_ns: Some(1_200_000), ..Latency::default() };
    (woken.buckets[54], woken.buckets[72]) = (33, 1);
    let hog = TaskRef::thread(22_417, 22_417, Comm::new(b"sh"), Comm::new(b"sh")).process();
    let row = WaitRow {
        sleeps: vec![
            sleep(WaitKind::Sleep, "accept4", 1_598_000_000),
            sleep(WaitKind::Lock, "futex", 138_000_000),
        ],
        woken,
        ran_instead: vec![OtherShare { who: hog, amount: 2_000_000 }],
        woken_by: vec![
            OtherShare { who, amount: 99 },
            OtherShare { who: TaskRef::INTERRUPT, amount: 1 },
        ],
        ..WaitRow::new(who)
    };
    WaitWindow { t0_ns, t1_ns, rows: vec![row], losses: Losses::default() }
}

/// Calls of every kind: fast ones, failed ones, one that has not returned.
pub(crate) fn calls((t0_ns, t1_ns): (u64, u64)) -> SyscallWindow {
    let nr = |name: &str| SyscallNr::named(name).expect("a system call");
    let row = |name: &str, calls: u64, total_ns: u64, max_ns: u64| SyscallRow {
        calls,
        total_ns,
        max_ns: Some(max_ns),
        ..SyscallRow::new(None, nr(name))
    };
    let failed = |name: &str, errno, count| Failures { who: None, nr: nr(name), errno, count };
    let rows = vec![
        SyscallRow { errors: 212, ..row("accept4", 1_400, 1_598_000_000, 21_300_000) },
        SyscallRow { in_flight: 1, ..row("futex", 75_312, 138_000_000, 1_200_000) },
        SyscallRow { errors: 3, ..row("openat", 9, 91_000, 40_100) },
        SyscallRow { in_flight: 1, ..SyscallRow::new(None, nr("epoll_wait")) },
    ];
    let failures = vec![
        failed("accept4", 11, 200),
        failed("accept4", 103, 12),
        failed("openat", 2, 2),
        failed("openat", 13, 1),
    ];
    let by = SyscallsBy::Call;
    let losses = Losses::default();
    SyscallWindow { t0_ns, t1_ns, by, rows, failures, dispatches: Vec::new(), losses }
}

pub(crate) fn moves(tgid: u32, (t0_ns, t1_ns): (u64, u64)) -> MoveWindow {
    let who = TaskRef::thread(tgid, tgid, Comm::new(b"worker"), Comm::new(b"worker"));
    let sums = MoveSums { moves: 4, queued: 4, ran: 4, ..MoveSums::default() };
    let periodic =
        MoveSums { before_ns: 52_000_000, after_ns: 37_600_000, paid: 1, unpaid: 2, ..sums };
    let woken = MoveSums { moves: 24, queued: 0, ran: 24, after_ns: 480_000, ..sums };
    let row = |cause, sums| MoveRow { who, from: 0, to: 1, cause, sums };
    let rows = vec![row(Cause::Periodic, periodic), row(Cause::Wakeup, woken)];
    let (unknown, losses) = (Vec::new(), Losses::default());
    MoveWindow { t0_ns, t1_ns, rows, unknown, missed: 0, losses, whole: true }
}
