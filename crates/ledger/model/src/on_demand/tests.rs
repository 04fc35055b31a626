//! Tests of windows for many readers: merging, choosing, cutting and sending.

use super::losses::Losses;
use super::syscalls::{Dispatches, Failures, SyscallRow, SyscallWindow, SyscallsBy};
use super::waits::{Latency, OtherShare, Sleep, WaitKind, WaitRow, WaitWindow};
use super::wakeups::{Edge, Fan, WakeupWindow};
use super::*;
use crate::{Comm, TaskRef};
use serde::Serialize;

fn who(tgid: u32, tid: u32) -> TaskRef {
    TaskRef::thread(tgid, tid, Comm::new(b"x"), Comm::new(b"x"))
}

fn losses(lost: u64) -> Losses {
    Losses { lost, skipped: Some(1), unseen: 2, tables_bytes: Some(lost), left_out: 0 }
}

/// A window from second `n` to the next.
fn calls_of(n: u64, rows: &[(TaskRef, i32, u64, u64)]) -> SubjectWindow {
    let rows = rows.iter().map(|&(who, nr, calls, in_flight)| SyscallRow {
        calls,
        in_flight,
        total_ns: calls * 10,
        max_ns: (calls > 0).then_some(n),
        oldest_ns: (in_flight > 0).then_some(n),
        ..SyscallRow::new(Some(who), SyscallNr(nr))
    });
    SubjectWindow::Syscalls(SyscallWindow {
        t0_ns: n,
        t1_ns: n + 1,
        by: SyscallsBy::Thread,
        rows: rows.collect(),
        failures: [(5, 11), (7, 2)]
            .map(|(tid, errno)| Failures {
                who: Some(who(tid, tid)),
                nr: SyscallNr(1),
                errno,
                count: n,
            })
            .into(),
        dispatches: vec![Dispatches { who: who(5, 5), count: n }],
        losses: losses(n),
    })
}

fn sorted(looked: SubjectWindow) -> SyscallWindow {
    let SubjectWindow::Syscalls(mut window) = looked else { panic!("calls") };
    window.rows.sort_by_key(|row| (row.who, row.nr));
    window
}

/// The errors of system call 1.
fn errors(window: &SyscallWindow, of: Option<TaskRef>) -> Vec<Failures> {
    let rows = window.longest_first().into_iter();
    let ours = rows.filter(|call| call.row.who == of && call.row.nr == SyscallNr(1));
    ours.flat_map(|call| call.failures).collect()
}

#[test]
fn two_windows_of_calls_merge_into_one() {
    let mut looked =
        calls_of(1, &[(who(5, 5), 1, 3, 1), (who(5, 6), 1, 0, 1), (who(7, 7), 2, 4, 0)]);
    looked.then(calls_of(2, &[(who(5, 5), 1, 2, 1), (who(8, 8), 2, 1, 0)]));
    let window = sorted(looked);
    let told: Vec<_> =
        window.rows.iter().map(|r| (r.calls, r.total_ns, r.in_flight, r.max_ns)).collect();
    assert_eq!(told, [(5, 50, 1, Some(2)), (4, 40, 0, Some(1)), (1, 10, 0, Some(2))]);
    assert_eq!((window.t0_ns, window.t1_ns), (1, 3));
    assert_eq!(window.rows[0].oldest_ns, Some(2), "that of the later window");
    assert_eq!(window.dispatches[0].count, 3);
    let failed: Vec<_> =
        errors(&window, Some(who(5, 5))).iter().map(|f| (f.name(), f.count)).collect();
    assert_eq!(failed, [("EAGAIN".to_string(), 3)]);
    let all = Losses { lost: 3, skipped: Some(2), unseen: 4, tables_bytes: Some(2), left_out: 0 };
    assert_eq!(window.losses, all);
}

#[test]
fn each_reader_has_its_choice_and_the_sums_are_the_same() {
    let looked = calls_of(
        1,
        &[(who(5, 5), 1, 3, 0), (who(5, 6), 1, 4, 1), (who(7, 7), 1, 8, 0), (who(7, 7), 2, 16, 0)],
    );
    let told = |by, pids: &[u32], calls: &[i32], shown: Shown| {
        let calls = calls.iter().map(|&nr| SyscallNr(nr)).collect();
        let choice = Choice { by, pids: pids.into(), calls };
        let window = sorted(looked.visible_to(&choice, shown));
        window
            .rows
            .iter()
            .map(|r| (r.who.map(|w| (w.tgid, w.tid)), r.nr.0, r.calls))
            .collect::<Vec<_>>()
    };
    let all: Shown = &|_| true;
    assert_eq!(told(SyscallsBy::Call, &[], &[], all), [(None, 1, 15), (None, 2, 16)]);
    assert_eq!(told(SyscallsBy::Process, &[5], &[], all), [(Some((5, None)), 1, 7)]);
    assert_eq!(told(SyscallsBy::Call, &[], &[2], all), [(None, 2, 16)]);
    assert_eq!(told(SyscallsBy::Call, &[], &[], &|tgid| tgid == 5), [(None, 1, 7)]);
    assert_eq!(told(SyscallsBy::Thread, &[5], &[], &|tgid| tgid == 7), []);
    let failed = |pids: &[u32], calls: &[i32]| {
        let calls = calls.iter().map(|&nr| SyscallNr(nr)).collect();
        let choice = Choice { by: SyscallsBy::Call, pids: pids.into(), calls };
        let window = sorted(looked.visible_to(&choice, all));
        let failed = errors(&window, None);
        failed.iter().map(|f| (f.errno, f.count)).collect::<Vec<_>>()
    };
    assert_eq!(failed(&[], &[]), [(2, 1), (11, 1)]);
    assert_eq!(failed(&[7], &[]), [(2, 1)]);
    assert_eq!(failed(&[], &[2]), []);
}

#[test]
fn wakeups_merge_and_a_process_sees_those_of_either_side() {
    let edge = |waker, wakee, wakeups| Edge {
        waker,
        wakee,
        wakeups,
        chains: wakeups,
        unproductive: 1,
        unproductive_ns: 5,
        late_ns: 7,
    };
    let fan = |waker, most, home| Fan {
        waker,
        nr: SyscallNr(1),
        futex: Some(7),
        calls: 1,
        wakeups: 2,
        most: Some(most),
        chains: 1,
        unproductive: 1,
        unproductive_ns: 3,
        home: SyscallNr(home),
    };
    let window = |n: u64, edges, fans| {
        SubjectWindow::Wakeups(WakeupWindow {
            t0_ns: n,
            t1_ns: n + 1,
            edges,
            fans,
            losses: losses(1),
        })
    };
    let mut looked = window(1, vec![edge(who(5, 5), who(7, 7), 2)], vec![fan(who(5, 5), 9, 4)]);
    let others = edge(who(8, 8), who(9, 9), 1);
    let second = vec![edge(who(5, 5), who(7, 7), 3), others];
    looked.then(window(2, second, vec![fan(who(5, 5), 6, -1)]));
    let SubjectWindow::Wakeups(all) = &looked else { panic!("wake-ups") };
    let wakeups: u64 = all.edges.iter().map(|edge| edge.wakeups).sum();
    assert_eq!((all.edges.len(), wakeups, all.fans.len()), (2, 6, 1));
    assert_eq!((all.fans[0].most, all.fans[0].home, all.fans[0].calls), (Some(9), SyscallNr(4), 2));
    let SubjectWindow::Wakeups(own) = looked.visible_to(&Choice::default(), &|tgid| tgid == 7)
    else {
        panic!("wake-ups")
    };
    assert_eq!((own.edges.len(), own.edges[0].wakeups, own.fans.len()), (1, 5, 0));
}

#[test]
fn waits_of_two_windows_merge_into_one_row_for_each_thread() {
    let row = |tid, ns| WaitRow {
        sleeps: vec![Sleep {
            kind: WaitKind::Sleep,
            nr: SyscallNr(1),
            count: 1,
            ns,
            max_ns: Some(ns),
        }],
        woken: Latency { count: 1, ns, max_ns: Some(ns), ..Latency::default() },
        queued: 1,
        woken_by: vec![OtherShare { who: TaskRef::INTERRUPT, amount: 2 }],
        ..WaitRow::new(who(5, tid))
    };
    let window = |n: u64, rows| {
        SubjectWindow::Waits(WaitWindow { t0_ns: n, t1_ns: n + 1, rows, losses: losses(1) })
    };
    let mut looked = window(1, vec![row(5, 10), row(6, 1)]);
    looked.then(window(2, vec![row(5, 20)]));
    let SubjectWindow::Waits(mut all) = looked else { panic!("waits") };
    all.rows.sort_by_key(|row| row.who);
    let first = &all.rows[0];
    assert_eq!((first.threads, first.queued, first.woken.ns), (1, 1, 30));
    assert_eq!((first.sleeps[0].ns, first.sleeps[0].count, first.woken_by[0].amount), (30, 2, 4));
    assert_eq!((all.rows[1].queued, all.rows.len()), (0, 2));
}

#[test]
fn a_window_survives_serialization() {
    let mut row = WaitRow::new(who(5, 5));
    row.woken.buckets[143] = 9;
    let waits =
        SubjectWindow::Waits(WaitWindow { t0_ns: 1, t1_ns: 2, rows: vec![row], losses: losses(0) });
    for looked in [waits, calls_of(1, &[(who(5, 5), -1, 3, 1)])] {
        let mut text = Vec::new();
        let mut to = serde_json::Serializer::new(&mut text);
        looked.serialize(&mut to).unwrap();
        assert_eq!(serde_json::from_slice::<SubjectWindow>(&text).unwrap(), looked);
    }
    let wrong = r#"{"count":1,"ns":1,"max_ns":null,"buckets":[[144,1]]}"#;
    assert!(serde_json::from_str::<Latency>(wrong).is_err());
}

/// Thread 1 slept for 1 ns, thread 2 for 2 ns, and so on.
fn waits(threads: u32) -> SubjectWindow {
    let row = |tid: u32| {
        let mut row = WaitRow::new(TaskRef::thread(1, tid, Comm::new(b"x"), Comm::new(b"x")));
        let ns = u64::from(tid);
        let nr = SyscallNr(0);
        row.add_sleep(Sleep { kind: WaitKind::Sleep, nr, count: 1, ns, max_ns: None });
        row
    };
    let rows = (1..=threads).map(row).collect();
    SubjectWindow::Waits(WaitWindow { t0_ns: 0, t1_ns: 1, rows, losses: Losses::default() })
}

#[test]
fn the_largest_rows_stay_and_the_rest_is_counted() {
    let mut looked = waits(10);
    looked.cut(3, 10);
    let SubjectWindow::Waits(window) = &looked else { panic!("waits") };
    let left: Vec<_> = window.rows.iter().map(|row| row.who.tid).collect();
    assert_eq!(left, [Some(10), Some(9), Some(8)]);
    assert_eq!(looked.losses().left_out, 7);
    looked.cut(1, 2);
    assert_eq!((looked.rows(), looked.losses().left_out), (1, 9));
    looked.then(waits(2));
    assert_eq!(looked.losses().left_out, 9, "of both windows");
    looked.cut(5, 1);
    assert_eq!((looked.rows(), looked.losses().left_out), (3, 9), "not more than exist");
}

#[test]
fn a_row_that_stays_keeps_its_dispatches() {
    let mut looked =
        calls_of(3, &[(who(5, 5), 1, 9, 0), (who(6, 6), 1, 4, 0), (who(7, 7), 1, 1, 0)]);
    let SubjectWindow::Syscalls(window) = &mut looked else { panic!("calls") };
    // The row with most time has the fewest dispatches, and the second one none.
    window.dispatches.push(Dispatches { who: who(7, 7), count: 100 });
    looked.cut(2, 3);
    let window = sorted(looked);
    let left = window.longest_first().into_iter().map(|call| call.dispatches);
    assert_eq!(left.collect::<Vec<_>>(), [Some(3), Some(0)]);
    assert_eq!((window.dispatches.len(), window.losses.left_out), (1, 2));
}

#[test]
fn a_row_with_long_lists_takes_more_than_one_without() {
    let (few, many) = (waits(10).bytes(), waits(20).bytes());
    assert_eq!(many, 2 * few);
    let SubjectWindow::Waits(mut window) = waits(10) else { panic!("waits") };
    let other = OtherShare { who: TaskRef::INTERRUPT, amount: 1 };
    window.rows[0].woken_by = vec![other; 1000];
    assert!(SubjectWindow::Waits(window).bytes() > few + 10_000);
}
