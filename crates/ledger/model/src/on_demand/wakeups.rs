//! Wake-ups in a window: which task woke which, how many at once, and how many for nothing.

use super::counted::{Choice, Counted};
use super::losses::Losses;
use super::namesakes::{sum_by, Namesakes, Party};
use super::sums::{leave, merge};
use super::syscall_nr::SyscallNr;
use crate::ledger::key::TaskRef;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use std::mem::size_of;

/// Wake-ups of one thread by another. If there are too many pairs to keep, the waker has no thread
/// and stands for its whole process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // Their names say it.
pub struct Edge {
    /// The waking task; [`TaskRef::INTERRUPT`] for an interrupt.
    pub waker: TaskRef,
    /// The woken task.
    pub wakee: TaskRef,
    pub wakeups: u64,
    /// Waits that this waker ended and whose consequence is known: the woken task did something, or
    /// went back to the wait.
    pub chains: u64,
    /// Of `chains`, wake-ups after which the task went back to the same wait without doing
    /// anything.
    pub unproductive: u64,
    /// CPU time of these unproductive runs, ns.
    pub unproductive_ns: u64,
    /// CPU time of the woken task between two waits whose first one was not seen, before these
    /// wake-ups, ns. It may be unproductive.
    #[serde(default)]
    pub late_ns: u64,
}

/// Wake-ups by system calls of one kind in one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fan {
    /// The waking thread.
    pub waker: TaskRef,
    /// The system call.
    pub nr: SyscallNr,
    /// Address of the futex (eight bytes). Each lock of a thread is counted separately.
    pub futex: Option<u64>,
    /// Number of calls that woke at least one task.
    pub calls: u64,
    /// Number of tasks that these calls woke.
    pub wakeups: u64,
    /// The most tasks that one call woke; `None` if that call fell between two windows.
    pub most: Option<u64>,
    /// As in [`Edge`].
    pub chains: u64,
    /// As in [`Edge`].
    pub unproductive: u64,
    /// As in [`Edge`], ns.
    pub unproductive_ns: u64,
    /// The call that unproductive wake-ups went back to; [`SyscallNr::NONE`] if there were none.
    pub home: SyscallNr,
}

impl Edge {
    /// Adds the figures of another edge.
    fn add(&mut self, other: &Edge) {
        self.wakeups += other.wakeups;
        self.chains += other.chains;
        self.unproductive += other.unproductive;
        self.unproductive_ns += other.unproductive_ns;
        self.late_ns += other.late_ns;
    }
}

/// Wake-ups between two processes; processes of one name count as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessWakeups {
    /// The waking process.
    pub waker: Party,
    /// The woken process.
    pub wakee: Party,
    /// Sum of the edges between their threads.
    pub sum: Edge,
    /// Number of woken threads.
    pub threads: usize,
}

impl Fan {
    /// Mean number of tasks that one call woke.
    pub fn mean(&self) -> f64 {
        self.wakeups as f64 / self.calls.max(1) as f64
    }

    fn add(&mut self, other: &Fan) {
        self.calls += other.calls;
        self.wakeups += other.wakeups;
        self.most = self.most.max(other.most);
        self.chains += other.chains;
        self.unproductive += other.unproductive;
        self.unproductive_ns += other.unproductive_ns;
        if other.home != SyscallNr::NONE {
            self.home = other.home;
        }
    }
}

/// Wake-ups of a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakeupWindow {
    /// Start, CLOCK_MONOTONIC ns.
    pub t0_ns: u64,
    /// End, CLOCK_MONOTONIC ns.
    pub t1_ns: u64,
    /// Edges, in no order.
    pub edges: Vec<Edge>,
    /// Fans, in no order.
    pub fans: Vec<Fan>,
    /// Losses of the programs.
    pub losses: Losses,
}

impl WakeupWindow {
    /// Edges summed over the threads of a process and over processes of one name.
    pub fn between_processes(&self) -> Vec<ProcessWakeups> {
        let ends = self.edges.iter().flat_map(|edge| [edge.waker, edge.wakee]);
        let names = Namesakes::among(ends);
        let of_party = |who: TaskRef| names.party(who.process());
        let edges =
            self.edges.iter().map(|edge| ((of_party(edge.waker), of_party(edge.wakee)), *edge));
        let mut woken: FxHashMap<_, FxHashSet<_>> = FxHashMap::default();
        for (parties, edge) in edges.clone() {
            woken.entry(parties).or_default().insert((edge.wakee.tgid, edge.wakee.tid));
        }
        let sums = sum_by(edges, |sum, edge| sum.add(&edge)).into_iter();
        sums.map(|(parties, sum)| ProcessWakeups {
            waker: parties.0,
            wakee: parties.1,
            sum: Edge { waker: parties.0.who, wakee: parties.1.who, ..sum },
            threads: woken[&parties].len(),
        })
        .collect()
    }
}

impl Counted for WakeupWindow {
    fn rows(&self) -> usize {
        self.edges.len() + self.fans.len()
    }

    fn bytes(&self) -> usize {
        self.edges.len() * size_of::<Edge>() + self.fans.len() * size_of::<Fan>()
    }

    fn visible_to(&self, _: &Choice, is_theirs: &dyn Fn(&TaskRef) -> bool) -> WakeupWindow {
        let edges = self.edges.iter().copied();
        WakeupWindow {
            edges: edges.filter(|e| is_theirs(&e.waker) || is_theirs(&e.wakee)).collect(),
            fans: self.fans.iter().copied().filter(|f| is_theirs(&f.waker)).collect(),
            ..*self
        }
    }

    fn merge(&mut self, later: WakeupWindow) {
        let thread = |who: &TaskRef| (who.tgid, who.tid);
        let key = |edge: &Edge| (thread(&edge.waker), thread(&edge.wakee));
        merge(&mut self.edges, later.edges, key, Edge::add);
        let key = |fan: &Fan| (thread(&fan.waker), fan.nr, fan.futex);
        merge(&mut self.fans, later.fans, key, Fan::add);
    }

    fn cut(&mut self, most: &dyn Fn(usize) -> usize) {
        leave(&mut self.edges, most, |edge| edge.wakeups);
        leave(&mut self.fans, most, |fan| fan.wakeups);
    }
}

/// A thundering herd: a call wakes many tasks for the work of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Herd {
    /// The wake-ups that show it.
    pub fan: Fan,
    /// CPU time of the unproductive runs, per cent of one CPU. `None` if `late_ns` is more than
    /// [`HERD_LATE`] of it.
    pub cost_pct: Option<f64>,
    /// CPU time between two waits whose first one was not seen, over all threads of the woken
    /// processes, ns.
    pub late_ns: u64,
}

/// Least number of waking calls in a window. Fewer may be a coincidence, such as a program's start
/// or a barrier.
pub const HERD_CALLS: u64 = 3;
/// Least mean number of tasks that one call wakes.
pub const HERD_FAN: f64 = 8.0;
/// Least part of the woken tasks that went back without doing anything.
pub const HERD_UNPRODUCTIVE: f64 = 0.5;
/// Most time of unknown use, as a part of the cost. Above this the cost is not shown.
pub const HERD_LATE: f64 = 0.1;

/// The herds of a window, the most expensive first. A herd is one thread and one kind of call (for
/// a futex: one futex) that meets three conditions:
/// - at least [`HERD_CALLS`] calls that woke at least [`HERD_FAN`] tasks each on average;
/// - at least [`HERD_UNPRODUCTIVE`] of the wake-ups with a known consequence were unproductive;
/// - there were at least as many unproductive wake-ups as calls.
pub fn herds(wakeups: &WakeupWindow) -> Vec<Herd> {
    let window_ns = wakeups.t1_ns.saturating_sub(wakeups.t0_ns).max(1) as f64;
    let late = LateTime::from_wakeups(wakeups);
    let is_herd = |fan: &&Fan| {
        fan.calls >= HERD_CALLS
            && fan.mean() >= HERD_FAN
            && fan.unproductive >= fan.calls
            && fan.unproductive as f64 >= HERD_UNPRODUCTIVE * fan.chains.max(1) as f64
    };
    let herd = |fan: &Fan| {
        let (late_ns, cost_ns) = (late.near(fan.waker.tgid), fan.unproductive_ns as f64);
        let is_whole = late_ns as f64 <= HERD_LATE * cost_ns;
        let cost_pct = is_whole.then_some(100.0 * cost_ns / window_ns);
        Herd { fan: *fan, cost_pct, late_ns }
    };
    let mut herds: Vec<Herd> = wakeups.fans.iter().filter(is_herd).map(herd).collect();
    herds.sort_by_key(|herd| std::cmp::Reverse(herd.fan.unproductive_ns));
    herds
}

/// [`Edge::late_ns`] of a window by woken process.
struct LateTime<'a> {
    edges: &'a [Edge],
    by_process: FxHashMap<u32, u64>,
}

impl LateTime<'_> {
    fn from_wakeups(wakeups: &WakeupWindow) -> LateTime<'_> {
        let mut by_process = FxHashMap::default();
        for edge in wakeups.edges.iter().filter(|edge| edge.late_ns > 0) {
            *by_process.entry(edge.wakee.tgid).or_default() += edge.late_ns;
        }
        LateTime { edges: &wakeups.edges, by_process }
    }

    /// Sum over all processes in which this process woke a thread, ns.
    fn near(&self, waker: u32) -> u64 {
        let woken = self.edges.iter().filter(|edge| edge.waker.tgid == waker);
        let woken: FxHashSet<u32> = woken.map(|edge| edge.wakee.tgid).collect();
        woken.iter().filter_map(|tgid| self.by_process.get(tgid)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Comm;

    fn fan(calls: u64, wakeups: u64, chains: u64, unproductive: u64) -> Fan {
        Fan {
            waker: TaskRef::thread(7, 8, Comm::new(b"tserver"), Comm::new(b"tserver")),
            nr: SyscallNr(202),
            futex: Some(0x7000),
            calls,
            wakeups,
            most: Some(wakeups),
            chains,
            unproductive,
            unproductive_ns: 29_000_000,
            home: SyscallNr(202),
        }
    }

    fn window(fans: Vec<Fan>) -> WakeupWindow {
        WakeupWindow {
            t0_ns: 0,
            t1_ns: 1_000_000_000,
            edges: Vec::new(),
            fans,
            losses: Losses::default(),
        }
    }

    #[test]
    fn a_herd_has_a_fan_and_goes_back_to_its_wait() {
        let found = herds(&window(vec![fan(10, 9980, 9980, 9970)]));
        assert_eq!(found.len(), 1);
        assert!(found[0].cost_pct.is_some_and(|cost| (cost - 2.9).abs() < 1e-9));
    }

    #[test]
    fn a_cost_with_too_much_unseen_time_is_not_shown() {
        let who = |tgid, tid| TaskRef::thread(tgid, tid, Comm::new(b"x"), Comm::new(b"x"));
        let edge = |waker, wakee, late_ns| Edge {
            waker,
            wakee,
            wakeups: 1,
            chains: 0,
            unproductive: 0,
            unproductive_ns: 0,
            late_ns,
        };
        let found = |late_ns, of| {
            // The herd wakes threads of process 9, and so do others. Process 5 has nothing to do
            // with it.
            let edges = vec![
                edge(who(7, 8), who(9, 9), 0),
                edge(who(9, 10), who(of, 11), late_ns),
                edge(who(5, 5), who(5, 6), u64::MAX / 2),
            ];
            herds(&WakeupWindow { edges, ..window(vec![fan(10, 9980, 9980, 9970)]) })[0]
        };
        assert_eq!(found(2_900_000, 9).late_ns, 2_900_000);
        assert!(found(2_900_000, 9).cost_pct.is_some(), "a tenth of it");
        assert_eq!(found(2_900_001, 9).cost_pct, None);
        assert!(found(u64::MAX / 4, 12).cost_pct.is_some(), "another process");
    }

    #[test]
    fn each_threshold_counts() {
        for (what, no_herd) in [
            ("too few calls", fan(HERD_CALLS - 1, 2000, 2000, 1999)),
            ("one at a time", fan(1000, 1000, 1000, 900)),
            ("a small fan", fan(100, 799, 799, 799)),
            ("most did something", fan(10, 1000, 1000, 499)),
            ("unknown", fan(10, 1000, 0, 0)),
            ("less than one each", fan(10, 1000, 12, 9)),
        ] {
            assert_eq!(herds(&window(vec![no_herd])), [], "{what}");
        }
        assert_eq!(herds(&window(vec![fan(HERD_CALLS, 24, 24, 12)])).len(), 1, "just enough");
    }

    #[test]
    fn threads_sum_to_processes() {
        let who = |tgid, tid| {
            let name = Comm::new(if tgid == 1 { b"server" } else { b"client" });
            TaskRef::thread(tgid, tid, name, name)
        };
        let edge = |waker, wakee, wakeups| Edge {
            waker,
            wakee,
            wakeups,
            chains: 1,
            unproductive: 1,
            unproductive_ns: 5,
            late_ns: 2,
        };
        let edges = vec![
            edge(who(1, 1), who(2, 2), 3),
            edge(who(1, 9), who(2, 2), 4),
            edge(who(1, 1), who(2, 3), 5),
            edge(TaskRef::INTERRUPT, who(2, 3), 1),
        ];
        let mut sums = WakeupWindow { edges, ..window(vec![]) }.between_processes();
        sums.sort_by_key(|between| between.sum.wakeups);
        assert_eq!(sums.len(), 2);
        let ProcessWakeups { waker, sum, threads, .. } = &sums[1];
        assert_eq!((sum.wakeups, sum.unproductive_ns, *threads), (12, 15, 2));
        assert_eq!(sum.late_ns, 6);
        assert_eq!(waker.who, who(1, 1).process());
    }

    #[test]
    fn processes_of_one_name_sum_to_one() {
        let who = |tgid, name: &[u8]| TaskRef::thread(tgid, tgid, Comm::new(name), Comm::new(name));
        let edge = |waker, wakee, wakeups| Edge {
            waker,
            wakee,
            wakeups,
            chains: 1,
            unproductive: 0,
            unproductive_ns: 0,
            late_ns: 0,
        };
        let make = who(5, b"make");
        let up = (100..412).map(|pid| edge(who(pid, b"sh"), make, 2));
        let down = (100..103).map(|pid| edge(make, who(pid, b"sh"), 1));
        let edges = up.chain(down).chain([edge(TaskRef::INTERRUPT, make, 7)]).collect();
        let mut sums = WakeupWindow { edges, ..window(vec![]) }.between_processes();
        sums.sort_by_key(|between| std::cmp::Reverse(between.sum.wakeups));
        let told: Vec<_> = sums
            .iter()
            .map(|of| (of.waker.to_string(), of.wakee.to_string(), of.sum.wakeups, of.threads))
            .collect();
        let told_as =
            |waker: &str, wakee: &str, n, threads| (waker.into(), wakee.into(), n, threads);
        assert_eq!(
            told,
            [
                told_as("sh × 312", "make (5)", 624, 1),
                told_as("interrupt", "make (5)", 7, 1),
                told_as("make (5)", "sh × 312", 3, 3),
            ]
        );
        assert_eq!(sums[0].waker.processes, 312);
    }
}
