//! Windows of one set of programs for many who look: each has what it asked for of what all get, and one
//! window of those that others wanted to end in between.

use super::losses::Losses;
use super::moves::MoveWindow;
use super::syscall_nr::SyscallNr;
use super::syscalls::{Failures, SyscallRow, SyscallWindow, SyscallsBy};
use super::waits::WaitWindow;
use super::wakeups::WakeupWindow;
use crate::ledger::key::Who;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::hash_map::Entry;
use std::hash::Hash;

/// A window of programs that are attached on demand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // Their names say it.
pub enum Looked {
    Syscalls(SyscallWindow),
    Wakeups(WakeupWindow),
    Waits(WaitWindow),
    Moves(MoveWindow),
}

/// What one of those who look wants of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// What rows of system calls sum.
    pub by: SyscallsBy,
    /// Only these processes; empty: all.
    pub pids: Vec<u32>,
    /// Only these system calls; empty: all.
    pub calls: Vec<SyscallNr>,
}

/// Whether somebody may be told of a process.
pub type Shown<'a> = &'a dyn Fn(u32) -> bool;

impl Looked {
    /// When it began and ended, CLOCK_MONOTONIC ns.
    pub fn span_ns(&self) -> (u64, u64) {
        match self {
            Looked::Syscalls(window) => (window.t0_ns, window.t1_ns),
            Looked::Wakeups(window) => (window.t0_ns, window.t1_ns),
            Looked::Waits(window) => (window.t0_ns, window.t1_ns),
            Looked::Moves(window) => (window.t0_ns, window.t1_ns),
        }
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        match self {
            Looked::Syscalls(window) => window.rows.len() + window.dispatches.len(),
            Looked::Wakeups(window) => window.edges.len() + window.fans.len(),
            Looked::Waits(window) => window.rows.len(),
            Looked::Moves(window) => window.rows.len(),
        }
    }

    /// What of it somebody wants and may see. System calls are by thread.
    pub fn chosen(&self, choice: &Choice, shown: Shown) -> Looked {
        let is_asked = |tgid: u32| choice.pids.is_empty() || choice.pids.contains(&tgid);
        let is_theirs = |who: &Who| is_asked(who.tgid) && shown(who.tgid);
        match self {
            Looked::Syscalls(window) => Looked::Syscalls(calls(window, choice, &is_theirs)),
            Looked::Wakeups(window) => {
                let edges = window.edges.iter().copied();
                Looked::Wakeups(WakeupWindow {
                    edges: edges.filter(|e| is_theirs(&e.waker) || is_theirs(&e.wakee)).collect(),
                    fans: window.fans.iter().copied().filter(|f| is_theirs(&f.waker)).collect(),
                    ..window.without_rows()
                })
            }
            Looked::Waits(window) => Looked::Waits(WaitWindow {
                rows: window.rows.iter().filter(|row| is_theirs(&row.who)).cloned().collect(),
                ..*window
            }),
            Looked::Moves(window) => Looked::Moves(window.of(is_theirs, !choice.pids.is_empty())),
        }
    }

    /// Goes on with the window after it: one window of both. Of two kinds the later one stays.
    pub fn then(&mut self, later: Looked) {
        match (self, later) {
            (Looked::Syscalls(window), Looked::Syscalls(later)) => window.then(later),
            (Looked::Wakeups(window), Looked::Wakeups(later)) => window.then(later),
            (Looked::Waits(window), Looked::Waits(later)) => window.then(later),
            (Looked::Moves(window), Looked::Moves(later)) => {
                window.losses.then(&later.losses);
                window.then(later);
            }
            (window, later) => *window = later,
        }
    }
}

/// System calls by thread as somebody wants them.
fn calls(
    window: &SyscallWindow,
    choice: &Choice,
    is_theirs: &dyn Fn(&Who) -> bool,
) -> SyscallWindow {
    let whose = |who: Who| match choice.by {
        SyscallsBy::Call => None,
        SyscallsBy::Process => Some(who.process()),
        SyscallsBy::Thread => Some(who),
    };
    let is_wanted = |nr: SyscallNr| choice.calls.is_empty() || choice.calls.contains(&nr);
    let theirs = |who: &Option<Who>| who.filter(is_theirs);
    let mut rows: Vec<SyscallRow> = Vec::new();
    for row in window.rows.iter().filter(|row| is_wanted(row.nr)) {
        let Some(who) = theirs(&row.who) else { continue };
        rows.push(SyscallRow { who: whose(who), ..*row });
    }
    let mut sums = Sums::default();
    rows.into_iter().for_each(|row| sums.add(key_of_call(&row), row, |sum, row| sum.add(row)));
    let mut failures = Sums::default();
    for one in window.failures.iter().filter(|one| is_wanted(one.nr)) {
        let Some(who) = theirs(&one.who) else { continue };
        let one = Failures { who: whose(who), ..*one };
        failures.add(key_of_failures(&one), one, |sum, one| sum.count += one.count);
    }
    let mut dispatches = Sums::default();
    for one in window.dispatches.iter().filter(|one| is_theirs(&one.who)) {
        let Some(who) = whose(one.who) else { continue };
        let one = super::syscalls::Dispatches { who, ..*one };
        dispatches.add((who.tgid, who.tid), one, |sum, one| sum.count += one.count);
    }
    SyscallWindow {
        by: choice.by,
        rows: sums.0.into_values().collect(),
        failures: failures.0.into_values().collect(),
        dispatches: dispatches.0.into_values().collect(),
        ..*window
    }
}

type KeyOfCall = (Option<(u32, Option<u32>)>, SyscallNr);

fn key_of_call(row: &SyscallRow) -> KeyOfCall {
    (row.who.map(|who| (who.tgid, who.tid)), row.nr)
}

fn key_of_failures(failures: &Failures) -> (KeyOfCall, u32) {
    ((failures.who.map(|who| (who.tgid, who.tid)), failures.nr), failures.errno)
}

/// Rows by what makes two of them the same.
struct Sums<K, V>(FxHashMap<K, V>);

impl<K, V> Default for Sums<K, V> {
    fn default() -> Sums<K, V> {
        Sums(FxHashMap::default())
    }
}

impl<K: Hash + Eq, V> Sums<K, V> {
    fn of(rows: &mut Vec<V>, key: impl Fn(&V) -> K) -> Sums<K, V> {
        Sums(std::mem::take(rows).into_iter().map(|row| (key(&row), row)).collect())
    }

    fn add(&mut self, key: K, row: V, add: impl Fn(&mut V, &V)) {
        match self.0.entry(key) {
            Entry::Occupied(mut sum) => add(sum.get_mut(), &row),
            Entry::Vacant(place) => {
                place.insert(row);
            }
        }
    }
}

impl Losses {
    /// Goes on with what the window after it missed.
    fn then(&mut self, later: &Losses) {
        self.lost += later.lost;
        self.unseen += later.unseen;
        self.skipped = self.skipped.zip(later.skipped).map(|(skipped, more)| skipped + more);
        self.tables_bytes = later.tables_bytes;
        self.left_out += later.left_out;
    }
}

impl SyscallWindow {
    fn then(&mut self, later: SyscallWindow) {
        let mut sums = Sums::of(&mut self.rows, key_of_call);
        // What is in flight is so at the end.
        sums.0.values_mut().for_each(|row| (row.in_flight, row.oldest_ns) = (0, None));
        for row in later.rows {
            sums.add(key_of_call(&row), row, |sum, row| sum.add(row));
        }
        self.rows =
            sums.0.into_values().filter(|row| row.calls != 0 || row.in_flight != 0).collect();
        let mut sums = Sums::of(&mut self.failures, key_of_failures);
        for one in later.failures {
            sums.add(key_of_failures(&one), one, |sum, one| sum.count += one.count);
        }
        self.failures = sums.0.into_values().collect();
        let mut sums = Sums::of(&mut self.dispatches, |one| (one.who.tgid, one.who.tid));
        for one in later.dispatches {
            sums.add((one.who.tgid, one.who.tid), one, |sum, one| sum.count += one.count);
        }
        self.dispatches = sums.0.into_values().collect();
        self.t1_ns = later.t1_ns;
        self.losses.then(&later.losses);
    }
}

impl WakeupWindow {
    fn without_rows(&self) -> WakeupWindow {
        WakeupWindow { edges: Vec::new(), fans: Vec::new(), ..*self }
    }

    fn then(&mut self, later: WakeupWindow) {
        let thread = |who: &Who| (who.tgid, who.tid);
        let key = |edge: &super::wakeups::Edge| (thread(&edge.waker), thread(&edge.wakee));
        let mut sums = Sums::of(&mut self.edges, key);
        for edge in later.edges {
            sums.add(key(&edge), edge, |sum, edge| {
                sum.wakeups += edge.wakeups;
                sum.chains += edge.chains;
                sum.unproductive += edge.unproductive;
                sum.unproductive_ns += edge.unproductive_ns;
                sum.late_ns += edge.late_ns;
            });
        }
        self.edges = sums.0.into_values().collect();
        let key = |fan: &super::wakeups::Fan| (thread(&fan.waker), fan.nr, fan.futex);
        let mut sums = Sums::of(&mut self.fans, key);
        for fan in later.fans {
            sums.add(key(&fan), fan, |sum, fan| {
                sum.calls += fan.calls;
                sum.wakeups += fan.wakeups;
                sum.most = sum.most.max(fan.most);
                sum.chains += fan.chains;
                sum.unproductive += fan.unproductive;
                sum.unproductive_ns += fan.unproductive_ns;
                if fan.home != SyscallNr::NONE {
                    sum.home = fan.home;
                }
            });
        }
        self.fans = sums.0.into_values().collect();
        self.t1_ns = later.t1_ns;
        self.losses.then(&later.losses);
    }
}

impl WaitWindow {
    fn then(&mut self, later: WaitWindow) {
        let key = |row: &super::waits::WaitRow| (row.who.tgid, row.who.tid);
        let mut sums = Sums::of(&mut self.rows, key);
        sums.0.values_mut().for_each(|row| row.queued = 0);
        for row in later.rows {
            sums.add(key(&row), row, |sum, row| {
                let threads = sum.threads;
                sum.add(row);
                sum.threads = threads;
            });
        }
        self.rows = sums.0.into_values().collect();
        self.rows.iter_mut().for_each(super::waits::WaitRow::sort);
        self.t1_ns = later.t1_ns;
        self.losses.then(&later.losses);
    }
}

#[cfg(test)]
mod tests {
    use super::super::syscalls::Dispatches;
    use super::super::waits::{Latency, Other, Sleep, WaitKind, WaitRow};
    use super::super::wakeups::{Edge, Fan};
    use super::*;
    use crate::Comm;

    fn who(tgid: u32, tid: u32) -> Who {
        Who::thread(tgid, tid, Comm::new(b"x"), Comm::new(b"x"))
    }

    fn losses(lost: u64) -> Losses {
        Losses { lost, skipped: Some(1), unseen: 2, tables_bytes: Some(lost), left_out: 0 }
    }

    /// From `n` s to the next.
    fn calls_of(n: u64, rows: &[(Who, i32, u64, u64)]) -> Looked {
        let rows = rows.iter().map(|&(who, nr, calls, in_flight)| SyscallRow {
            calls,
            in_flight,
            total_ns: calls * 10,
            max_ns: (calls > 0).then_some(n),
            oldest_ns: (in_flight > 0).then_some(n),
            ..SyscallRow::new(Some(who), SyscallNr(nr))
        });
        Looked::Syscalls(SyscallWindow {
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

    fn sorted(looked: Looked) -> SyscallWindow {
        let Looked::Syscalls(mut window) = looked else { panic!("calls") };
        window.rows.sort_by_key(|row| (row.who, row.nr));
        window
    }

    #[test]
    fn two_windows_of_calls_are_one() {
        let mut looked =
            calls_of(1, &[(who(5, 5), 1, 3, 1), (who(5, 6), 1, 0, 1), (who(7, 7), 2, 4, 0)]);
        looked.then(calls_of(2, &[(who(5, 5), 1, 2, 1), (who(8, 8), 2, 1, 0)]));
        let window = sorted(looked);
        let told: Vec<_> =
            window.rows.iter().map(|r| (r.calls, r.total_ns, r.in_flight, r.max_ns)).collect();
        assert_eq!(told, [(5, 50, 1, Some(2)), (4, 40, 0, Some(1)), (1, 10, 0, Some(2))]);
        assert_eq!((window.t0_ns, window.t1_ns), (1, 3));
        assert_eq!(window.rows[0].oldest_ns, Some(2), "of the end");
        assert_eq!(window.dispatches[0].count, 3);
        let row = SyscallRow::new(Some(who(5, 5)), SyscallNr(1));
        let failed: Vec<_> = window.failures_of(&row).iter().map(|f| (f.name(), f.count)).collect();
        assert_eq!(failed, [("EAGAIN".to_string(), 3)]);
        let all =
            Losses { lost: 3, skipped: Some(2), unseen: 4, tables_bytes: Some(2), left_out: 0 };
        assert_eq!(window.losses, all);
    }

    #[test]
    fn each_has_what_was_asked_for_and_sums_are_the_same() {
        let looked = calls_of(
            1,
            &[
                (who(5, 5), 1, 3, 0),
                (who(5, 6), 1, 4, 1),
                (who(7, 7), 1, 8, 0),
                (who(7, 7), 2, 16, 0),
            ],
        );
        let told = |by, pids: &[u32], calls: &[i32], shown: Shown| {
            let calls = calls.iter().map(|&nr| SyscallNr(nr)).collect();
            let choice = Choice { by, pids: pids.into(), calls };
            let window = sorted(looked.chosen(&choice, shown));
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
            let window = sorted(looked.chosen(&choice, all));
            let failed = window.failures_of(&SyscallRow::new(None, SyscallNr(1)));
            failed.iter().map(|f| (f.errno, f.count)).collect::<Vec<_>>()
        };
        assert_eq!(failed(&[], &[]), [(2, 1), (11, 1)]);
        assert_eq!(failed(&[7], &[]), [(2, 1)]);
        assert_eq!(failed(&[], &[2]), []);
    }

    #[test]
    fn wake_ups_of_two_windows_are_one_and_ones_own_are_those_of_either_side() {
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
            Looked::Wakeups(WakeupWindow { t0_ns: n, t1_ns: n + 1, edges, fans, losses: losses(1) })
        };
        let mut looked = window(1, vec![edge(who(5, 5), who(7, 7), 2)], vec![fan(who(5, 5), 9, 4)]);
        let others = edge(who(8, 8), who(9, 9), 1);
        let second = vec![edge(who(5, 5), who(7, 7), 3), others];
        looked.then(window(2, second, vec![fan(who(5, 5), 6, -1)]));
        let Looked::Wakeups(all) = &looked else { panic!("wake-ups") };
        let wakeups: u64 = all.edges.iter().map(|edge| edge.wakeups).sum();
        assert_eq!((all.edges.len(), wakeups, all.fans.len()), (2, 6, 1));
        assert_eq!(
            (all.fans[0].most, all.fans[0].home, all.fans[0].calls),
            (Some(9), SyscallNr(4), 2)
        );
        let Looked::Wakeups(own) = looked.chosen(&Choice::default(), &|tgid| tgid == 7) else {
            panic!("wake-ups")
        };
        assert_eq!((own.edges.len(), own.edges[0].wakeups, own.fans.len()), (1, 5, 0));
    }

    #[test]
    fn waits_of_two_windows_are_one_row_a_thread() {
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
            woken_by: vec![Other { who: Who::INTERRUPT, amount: 2 }],
            ..WaitRow::new(who(5, tid))
        };
        let window = |n: u64, rows| {
            Looked::Waits(WaitWindow { t0_ns: n, t1_ns: n + 1, rows, losses: losses(1) })
        };
        let mut looked = window(1, vec![row(5, 10), row(6, 1)]);
        looked.then(window(2, vec![row(5, 20)]));
        let Looked::Waits(mut all) = looked else { panic!("waits") };
        all.rows.sort_by_key(|row| row.who);
        let first = &all.rows[0];
        assert_eq!((first.threads, first.queued, first.woken.ns), (1, 1, 30));
        assert_eq!(
            (first.sleeps[0].ns, first.sleeps[0].count, first.woken_by[0].amount),
            (30, 2, 4)
        );
        assert_eq!((all.rows[1].queued, all.rows.len()), (0, 2));
    }

    #[test]
    fn what_is_sent_is_what_is_read() {
        let mut row = WaitRow::new(who(5, 5));
        row.woken.buckets[143] = 9;
        let waits =
            Looked::Waits(WaitWindow { t0_ns: 1, t1_ns: 2, rows: vec![row], losses: losses(0) });
        for looked in [waits, calls_of(1, &[(who(5, 5), -1, 3, 1)])] {
            let mut text = Vec::new();
            let mut to = serde_json::Serializer::new(&mut text);
            looked.serialize(&mut to).unwrap();
            assert_eq!(serde_json::from_slice::<Looked>(&text).unwrap(), looked);
        }
        let wrong = r#"{"count":1,"ns":1,"max_ns":null,"buckets":[[144,1]]}"#;
        assert!(serde_json::from_str::<Latency>(wrong).is_err());
    }
}
