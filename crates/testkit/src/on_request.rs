//! What is read only while somebody looks: control groups, and what a watched process waits for.

use crate::machine::{T0, WINDOW};
use exactop_model::cgroups::{self, GroupSample, GroupUse, Groups};
use exactop_model::on_demand::losses::Losses;
use exactop_model::on_demand::waits::{Latency, Other, Sleep, WaitKind, WaitRow, WaitWindow};
use exactop_model::run::CpuStat;
use exactop_model::{Comm, SyscallNr, Who};

/// A few groups, one of them held back by its quota: name, CPU time and time throttled, ms.
const GROUPS: [(&str, u64, u64); 4] = [
    ("/", 0, 0),
    ("/user.slice", 1700, 0),
    ("/system.slice", 100, 0),
    ("/system.slice/batch.service", 800, 2900),
];

pub(crate) fn groups() -> Groups {
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
    Groups { t0_ns: T0, t1_ns: T0 + WINDOW, cpus: Some(2), no_ledger: None, rows }
}

pub(crate) fn waits(tgid: u32) -> WaitWindow {
    let who = Who { tgid, tid: Some(tgid), comm: Comm::new(b"worker") };
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
    let hog = Who { tgid: 22_417, tid: None, comm: Comm::new(b"sh") };
    let row = WaitRow {
        sleeps: vec![
            sleep(WaitKind::Sleep, "accept4", 1_598_000_000),
            sleep(WaitKind::Lock, "futex", 138_000_000),
        ],
        woken,
        ran_instead: vec![Other { who: hog, amount: 2_000_000 }],
        woken_by: vec![Other { who, amount: 99 }, Other { who: Who::INTERRUPT, amount: 1 }],
        ..WaitRow::new(who)
    };
    WaitWindow { t0_ns: T0, t1_ns: T0 + WINDOW, rows: vec![row], losses: Losses::default() }
}
