use super::{Pooling, Pools, BRIEF, THREADS};
use crate::ledger::book::Book;
use crate::ledger::counters::Counter;
use crate::ledger::key::{AccountId, Comm, Ident, TaskKey};
use crate::ledger::merged::Merged;
use crate::ledger::provenance::SourceKind;
use crate::ledger::samples;
use crate::ledger::snapshot::{ExitSample, MicroState, ProcessRef, Snapshot, TaskSample};
use crate::ledger::window::Window;
use proptest::prelude::*;
use std::collections::BTreeMap;

const SECOND: u64 = 1_000_000_000;

/// An event in a window.
#[derive(Clone, Debug)]
enum Event {
    /// A process is born with this number of threads beside its main thread.
    Birth { threads: u32 },
    /// A thread runs for `ns`, and then sleeps or waits.
    Run { who: usize, ns: u64, waits: bool },
    /// A thread ends; its time in the window goes to an exited group.
    End { who: usize, ns: u64 },
    /// A thread moves to another control group.
    Move { who: usize, cgroup: u64 },
    /// A thread becomes the leader of its process by an exec.
    Exec { who: usize },
    /// A process is born and ends within the window.
    Brief { comm: u8, ns: u64 },
}

/// A machine and its source.
struct Machine {
    at_ns: u64,
    accounts: u64,
    tasks: Vec<(TaskSample, u64)>,
    exits: BTreeMap<(u32, u8), ExitSample>,
}

impl Machine {
    fn new() -> Machine {
        Machine { at_ns: SECOND, accounts: 0, tasks: Vec::new(), exits: BTreeMap::new() }
    }

    fn born(&mut self, tgid: u32, tid: u32, at_ns: u64) {
        self.accounts += 1;
        let key = TaskKey { tgid, tid, start_ns: at_ns };
        let ident = Ident { cgroup_id: Some(1), comm: Comm::new(b"task"), ..Ident::default() };
        let task = TaskSample { since_ns: at_ns, ..samples::task(self.accounts, key, ident) };
        self.tasks.push((task, at_ns));
    }

    fn exit(&mut self, of: u32, comm: u8, cgroup: u64, ns: u64) {
        self.accounts += 1;
        let new = samples::exited(self.accounts, Default::default(), Comm::new(&[b'a' + comm]));
        let group = self.exits.entry((of, comm)).or_insert(ExitSample {
            of: ProcessRef { tgid: of, start_ns: u64::from(of > 0) },
            cgroup_id: Some(cgroup),
            ..new
        });
        group.tasks += 1;
        group.processes += u64::from(of == 0);
        group.life_ns += ns;
        group.counters.bump(Counter::RunNs, ns);
    }

    /// The next snapshot, one second after the one before.
    fn snapshot(&mut self, events: &[Event]) -> Snapshot {
        let t0_ns = self.at_ns;
        self.at_ns += SECOND;
        let now = self.at_ns;
        let (mut gone, mut told) = (Vec::new(), Vec::new());
        for event in events {
            let living = self.tasks.len().max(1);
            match *event {
                Event::Birth { threads } => {
                    let tgid = 100 * (self.accounts as u32 + 1);
                    (0..=threads).for_each(|n| self.born(tgid, tgid + n, t0_ns + 5));
                    told.extend(
                        self.tasks.iter().rev().take(threads as usize + 1).map(|t| t.0.account),
                    );
                }
                Event::Brief { comm, ns } => self.exit(0, comm, u64::from(comm % 2), ns),
                Event::End { who, ns } if self.tasks.len() > who % living => {
                    let (task, _) = self.tasks.swap_remove(who % living);
                    gone.push(task.account);
                    let is_thread = !task.key.is_leader();
                    self.exit(task.key.tgid * u32::from(is_thread), 9, 1, ns);
                }
                Event::Run { who, ns, waits } if !self.tasks.is_empty() => {
                    let (task, since_ns) = &mut self.tasks[who % living];
                    if *since_ns == now {
                        continue;
                    }
                    task.counters = task.counters_after(now - ns - *since_ns);
                    task.counters.bump(Counter::RunNs, ns);
                    task.counters.bump(Counter::Vcx, 1);
                    (task.state, task.letter) = match waits {
                        true => (MicroState::Lat, 'R'),
                        false => (MicroState::Sleep, 'S'),
                    };
                    *since_ns = now;
                    told.push(task.account);
                }
                Event::Move { who, cgroup } if !self.tasks.is_empty() => {
                    self.tasks[who % living].0.ident.cgroup_id = Some(cgroup);
                    told.push(self.tasks[who % living].0.account);
                }
                Event::Exec { who } if !self.tasks.is_empty() => {
                    let key = self.tasks[who % living].0.key;
                    let leader = TaskKey { tid: key.tgid, ..key };
                    let other = self.tasks.iter().position(|(task, _)| task.key.tid == leader.tid);
                    match other {
                        Some(other) if other != who % living => {
                            let (task, at) = &mut self.tasks[who % living];
                            (task.key, told) = (leader, [told, vec![task.account]].concat());
                            let _ = at;
                            gone.push(self.tasks.swap_remove(other).0.account);
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        told.retain(|account| !gone.contains(account));
        told.sort_unstable();
        told.dedup();
        let tasks = self.tasks.iter_mut().filter(|(task, _)| told.contains(&task.account));
        let tasks = tasks.map(|(task, since_ns)| {
            task.counters = task.counters_after(now - *since_ns);
            *since_ns = now;
            *task
        });
        Snapshot {
            complete: false,
            tasks: tasks.collect(),
            gone,
            exited: self.exits.values().copied().collect(),
            ..samples::snapshot(SourceKind::Ledger, now)
        }
    }
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    // All events together are shorter than a window.
    let ns = 1..50_000_000u64;
    let who = 0..40usize;
    proptest::collection::vec(
        prop_oneof![
            (0..4u32).prop_map(|threads| Event::Birth { threads }),
            (who.clone(), ns.clone(), any::<bool>()).prop_map(|(who, ns, waits)| Event::Run {
                who,
                ns,
                waits
            }),
            (who.clone(), ns.clone()).prop_map(|(who, ns)| Event::End { who, ns }),
            (who.clone(), 1..4u64).prop_map(|(who, cgroup)| Event::Move { who, cgroup }),
            who.prop_map(|who| Event::Exec { who }),
            (0..5u8, ns).prop_map(|(comm, ns)| Event::Brief { comm, ns }),
        ],
        0..12,
    )
}

/// CPU time of a window by control group, and the number of exited processes.
fn sums(window: &Window) -> (BTreeMap<Option<u64>, u64>, u64) {
    let mut sums = BTreeMap::new();
    let of_tasks = window.tasks.iter().map(|task| (task.sample.ident.cgroup_id, task.delta));
    let of_exits = window.exited.iter().map(|exit| (exit.sample.cgroup_id, exit.delta));
    for (cgroup, delta) in of_tasks.chain(of_exits) {
        *sums.entry(cgroup).or_insert(0) += delta.get(Counter::RunNs).unwrap_or(0);
    }
    sums.retain(|_, ns| *ns > 0);
    (sums, window.exited.iter().map(|exit| exit.processes).sum())
}

fn opening(machine: &Machine) -> Snapshot {
    samples::snapshot(SourceKind::Ledger, machine.at_ns)
}

/// Run time and life of each thread of a window, by its number.
fn by_thread(window: &Window) -> BTreeMap<(u32, u32), (u64, u64)> {
    let figures = |task: &crate::ledger::window::TaskDelta| {
        let of = |counter| task.delta.get(counter).unwrap_or(u64::MAX);
        (of(Counter::RunNs), of(Counter::SleepNs))
    };
    window.tasks.iter().map(|t| ((t.sample.key.tgid, t.sample.key.tid), figures(t))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whenever pooling starts and ends, each window has the same sums as without it, and so have
    /// joined windows.
    #[test]
    fn pooled_windows_have_the_same_sums(
        windows in proptest::collection::vec((events(), any::<bool>(), any::<bool>()), 1..30),
        joined in 1..5usize,
    ) {
        let mut machine = Machine::new();
        let (mut raw, mut told) = (Book::new(), Book::new());
        let (mut merged, mut long, mut pooling) = (Merged::new(), Book::new(), Pooling::default());
        let first = opening(&machine);
        raw.advance(first.clone());
        merged.add(first.clone());
        long.advance(merged.take().unwrap());
        told.advance(first);
        let mut long_run_ns = 0;
        let run = |window: &Window| sums(window).0.values().sum::<u64>();
        for (n, (events, brief, threads)) in windows.iter().enumerate() {
            let mut now = machine.snapshot(events);
            let right = raw.advance(now.clone()).unwrap();
            pooling.set(Pools { brief: *brief, threads: *threads });
            pooling.take(&mut now, &told);
            merged.add(now.clone());
            let window = told.advance(now).unwrap();
            prop_assert_eq!(sums(&window), sums(&right), "window {}", n);
            prop_assert_eq!(window.errors, right.errors);
            long_run_ns += run(&right);
            if (n + 1) % joined == 0 {
                let window = long.advance(merged.take().unwrap()).unwrap();
                prop_assert_eq!(run(&window), long_run_ns, "joined up to {}", n);
                long_run_ns = 0;
            }
            // Each living thread is counted exactly once.
            let counted = told.processes().flat_map(|(_, process)| &process.tasks);
            let counted: u32 = counted.map(|&a| told.task(a).unwrap().threads.unwrap_or(1)).sum();
            prop_assert_eq!(counted as usize, machine.tasks.len());
            if !threads {
                prop_assert_eq!(by_thread(&window), expected(&window, &right));
            }
        }
    }
}

/// The expected figures of threads that have their own row. A thread that is listed only because
/// pooling ended slept or waited throughout the window.
fn expected(window: &Window, right: &Window) -> BTreeMap<(u32, u32), (u64, u64)> {
    let mut right = by_thread(right);
    for (thread, figures) in by_thread(window) {
        right.entry(thread).or_insert(match figures.1 {
            0 => (0, 0),
            _ => (0, SECOND),
        });
    }
    right
}

#[test]
fn a_pool_has_its_name_and_its_number_of_tasks() {
    let mut machine = Machine::new();
    let (mut told, mut pooling) = (Book::new(), Pooling::default());
    told.advance(opening(&machine));
    pooling.set(Pools { brief: true, threads: true });
    let brief = |comm| Event::Brief { comm, ns: 1000 };
    let events = [Event::Birth { threads: 3 }, brief(0), brief(2), brief(4), brief(2)];
    let mut window = |events: &[Event]| {
        let mut now = machine.snapshot(events);
        pooling.take(&mut now, &told);
        told.advance(now).unwrap()
    };
    window(&events);
    let pooled = window(&[brief(0), brief(2), brief(4), Event::Run { who: 2, ns: 7, waits: true }]);
    let [exit] = &pooled.exited[..] else { panic!("{:?}", pooled.exited) };
    assert_eq!((exit.sample.comm, exit.processes, exit.tasks), (BRIEF, 3, 3));
    assert_eq!(exit.delta.get(Counter::RunNs), Some(3000));
    let [task] = &pooled.tasks[..] else { panic!("{:?}", pooled.tasks) };
    assert_eq!((task.sample.ident.comm, task.sample.threads), (THREADS, Some(3)));
    assert_eq!((task.sample.letter, task.delta.get(Counter::RunNs)), ('R', Some(7)));
    assert_eq!(task.delta.get(Counter::LatNs), None, "waits of pooled threads are unknown");
    assert_eq!(task.sample.account.0 & super::POOLED, super::POOLED);
    assert_ne!(task.sample.account, AccountId(0));
}

#[test]
fn a_counter_unknown_in_one_task_stays_unknown_in_the_pool() {
    use crate::ledger::counters::Counters;
    let known = Counters::zero();
    let mut unknown = Counters::zero();
    unknown.forget(Counter::LatNs);
    let mut pool = Counters::zero();
    for new in [&known, &unknown, &known] {
        super::brief::pour(&mut pool, new);
    }
    assert_eq!((pool.get(Counter::LatNs), pool.get(Counter::RunNs)), (None, Some(0)));
}
