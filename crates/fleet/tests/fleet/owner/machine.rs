//! A machine with one CPU that keeps its own accounts by task and control group, and reports them
//! like the ledger: a task's figures under its last control group, and at each move its figures so
//! far.

use super::{Figures, Sums};
use exactop_model::ledger::named::{GroupName, Named};
use exactop_model::ledger::snapshot::{GroupMove, ProcessRef};
use exactop_model::owner::Grouping;
use exactop_model::{
    AccountId, Comm, Counter, Counters, CpuSample, ExitSample, Ident, MicroState, Provenance,
    Quality, Snapshot, SourceKind, TaskKey, TaskSample,
};
use exactop_testkit::samples;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Control groups, numbered from 1; the last has no names.
pub const GROUPS: u64 = 5;

/// Path, unit, container, pod and namespace of each control group.
pub const NAMES: [[Option<&str>; 5]; GROUPS as usize] = [
    [Some("/"), None, None, None, None],
    [Some("/a.service"), Some("a.service"), None, None, None],
    [Some("/b.service"), Some("b.service"), Some("shop/web/app"), Some("shop/web"), Some("shop")],
    [Some("/c.service"), Some("c.service"), Some("shop/db/app"), Some("shop/db"), Some("shop")],
    [None, None, None, None, None],
];

const COMMANDS: [&str; 3] = ["cat", "dog", "eel"];

/// An event. Numbers select among the existing tasks.
#[derive(Clone, Debug)]
pub enum Event {
    /// A task waits for a CPU and for its quota, and runs.
    Use { task: usize, used: Figures },
    /// A task begins to wait for a CPU, and waits until it runs or exits.
    Queue { task: usize },
    /// A task moves to a control group.
    Move { task: usize, group: u64 },
    /// A process executes another program.
    Exec { task: usize, command: usize },
    /// A process changes its user.
    SetUid { task: usize, uid: u32 },
    /// A process starts a session.
    SetSid { task: usize },
    /// A process forks.
    Fork { task: usize },
    /// A process starts a thread.
    Thread { task: usize },
    /// A thread exits; a leader exits with its whole process.
    Exit { task: usize },
    /// The window ends.
    Close,
}

pub fn event() -> impl Strategy<Value = Event> {
    let task = || 0..8usize;
    let used = (0..2_000u64, 0..500u64, 0..500u64, 0..9u64);
    prop_oneof![
        8 => (task(), used).prop_map(|(task, (run, lat, throttle, dispatches))| Event::Use {
            task,
            used: [run, lat, throttle, 0, dispatches],
        }),
        2 => task().prop_map(|task| Event::Queue { task }),
        8 => (task(), 1..=GROUPS).prop_map(|(task, group)| Event::Move { task, group }),
        2 => (task(), 0..COMMANDS.len()).prop_map(|(task, command)| Event::Exec { task, command }),
        1 => (task(), 0..3u32).prop_map(|(task, uid)| Event::SetUid { task, uid }),
        1 => task().prop_map(|task| Event::SetSid { task }),
        2 => task().prop_map(|task| Event::Fork { task }),
        1 => task().prop_map(|task| Event::Thread { task }),
        2 => task().prop_map(|task| Event::Exit { task }),
        2 => Just(Event::Close),
    ]
}

/// Figures of the window by control group.
type Places = BTreeMap<u64, Figures>;

struct Task {
    sample: TaskSample,
    at_t0: Counters,
    used: Places,
    touched: bool,
}

impl Task {
    fn so_far(&self) -> Counters {
        self.sample.counters.since(&self.at_t0).0
    }

    /// Adds figures to the task and to its group.
    fn book(&mut self, used: Figures) {
        let group = self.sample.ident.cgroup_id.expect("all are in one");
        let sum = self.used.entry(group).or_default();
        for (counter, at) in COUNTED {
            self.sample.counters.bump(counter, used[at]);
            sum[at] += used[at];
        }
    }
}

/// A task that exited in the window: its process, and its identity at the end.
struct Ended {
    of: ProcessRef,
    ident: Ident,
    process: bool,
    used: Places,
}

pub struct Machine {
    at_ns: u64,
    t0_ns: u64,
    cpu: CpuSample,
    tasks: BTreeMap<u64, Task>,
    next: u64,
    gone: Vec<AccountId>,
    exited: Vec<ExitSample>,
    moves: BTreeMap<(u64, u64), GroupMove>,
    /// Pairs of groups with a move in this window. The ledger forgets the others.
    moved: BTreeSet<(u64, u64)>,
    ended: Vec<Ended>,
    opened: bool,
    /// Sums of each closed window, by each `Grouping` of a machine.
    pub truth: Vec<BTreeMap<Grouping, Sums>>,
}

/// Counters of the machine, and their place in [`Figures`].
const COUNTED: [(Counter, usize); 4] =
    [(Counter::RunNs, 0), (Counter::LatNs, 1), (Counter::ThrottleNs, 2), (Counter::Dispatches, 4)];

/// A counter that the machine does not measure.
pub const NOT_MEASURED: Counter = Counter::UserNs;

impl Machine {
    pub fn new() -> Machine {
        let mut machine = Machine {
            at_ns: 1_000,
            t0_ns: 1_000,
            cpu: samples::cpu(0),
            tasks: BTreeMap::new(),
            next: 1,
            gone: Vec::new(),
            exited: Vec::new(),
            moves: BTreeMap::new(),
            moved: BTreeSet::new(),
            ended: Vec::new(),
            opened: false,
            truth: Vec::new(),
        };
        let (comm, session) = (Comm::new(b"cat"), Some(101));
        let ident = Ident { cgroup_id: Some(2), comm, session, ..Ident::default() };
        for _ in 0..3 {
            machine.born(None, ident);
        }
        machine
    }

    /// Starts a process, or a thread of process `of`.
    fn born(&mut self, of: Option<u32>, ident: Ident) {
        let tid = 100 + self.next as u32;
        let key = TaskKey { tgid: of.unwrap_or(tid), tid, start_ns: self.at_ns };
        let mut sample = samples::task(self.next, key, ident);
        sample.since_ns = self.at_ns;
        sample.counters.forget(NOT_MEASURED);
        let (at_t0, used) = (Counters::zero(), Places::new());
        self.tasks.insert(self.next, Task { sample, at_t0, used, touched: true });
        self.next += 1;
    }

    fn chosen(&self, task: usize) -> Option<u64> {
        let all: Vec<u64> = self.tasks.keys().copied().collect();
        (!all.is_empty()).then(|| all[task % all.len()])
    }

    fn leader(&self, tgid: u32) -> Option<&Task> {
        self.tasks.values().find(|t| t.sample.key.tgid == tgid && t.sample.key.is_leader())
    }

    /// Applies an event; returns a snapshot if the window ends.
    pub fn happens(&mut self, event: &Event) -> Option<Snapshot> {
        let task = match *event {
            Event::Close => return Some(self.close()),
            Event::Use { task, .. }
            | Event::Queue { task }
            | Event::Move { task, .. }
            | Event::Exec { task, .. }
            | Event::SetUid { task, .. }
            | Event::SetSid { task }
            | Event::Fork { task }
            | Event::Thread { task }
            | Event::Exit { task } => self.chosen(task)?,
        };
        let Task { sample, touched, .. } = self.tasks.get_mut(&task)?;
        *touched = true;
        let TaskKey { tgid, .. } = sample.key;
        let own = sample.ident;
        let child = Ident { ppid: tgid, ..own };
        match *event {
            Event::Use { used, .. } => self.uses(task, used),
            Event::Queue { .. } => sample.state = MicroState::Lat,
            Event::Move { group, .. } => self.moves(task, group),
            Event::Exec { command, .. } if sample.key.is_leader() => {
                sample.ident.comm = Comm::new(COMMANDS[command].as_bytes());
            }
            Event::SetUid { uid, .. } => sample.ident.uid = uid,
            Event::SetSid { .. } if sample.key.is_leader() => self.begins_session(tgid),
            Event::Fork { .. } => self.born(None, child),
            Event::Thread { .. } => self.born(Some(tgid), own),
            Event::Exit { .. } => self.exits(task),
            Event::Exec { .. } | Event::SetSid { .. } | Event::Close => {}
        }
        None
    }

    /// All threads of a process are in one session.
    fn begins_session(&mut self, tgid: u32) {
        for task in self.tasks.values_mut().filter(|task| task.sample.key.tgid == tgid) {
            (task.sample.ident.session, task.touched) = (Some(tgid), true);
        }
    }

    fn uses(&mut self, task: u64, used: Figures) {
        let Some(running) = self.tasks.get_mut(&task) else { return };
        running.sample.state = MicroState::Sleep;
        running.book(used);
        let [run_ns, lat_ns, throttle_ns, ..] = used;
        self.cpu.task_ns += run_ns;
        self.cpu.idle_ns += lat_ns + throttle_ns;
        self.pass(run_ns + lat_ns + throttle_ns);
    }

    /// Time passes. Tasks in the queue wait, without an event.
    fn pass(&mut self, ns: u64) {
        self.at_ns += ns;
        for task in self.tasks.values_mut().filter(|task| task.sample.state == MicroState::Lat) {
            task.book([0, ns, 0, 0, 0]);
        }
    }

    /// As in bpf/ledger/move.h.
    fn moves(&mut self, task: u64, to: u64) {
        let Some(task) = self.tasks.get_mut(&task) else { return };
        let from = task.sample.ident.cgroup_id.replace(to).expect("all are in one");
        if from == to {
            return;
        }
        let nothing = GroupMove { from, to, ..GroupMove::default() };
        let sum = self.moves.entry((from, to)).or_insert(nothing);
        sum.add(&task.so_far());
        self.moved.insert((from, to));
    }

    fn exits(&mut self, account: u64) {
        let TaskKey { tgid, .. } = self.tasks[&account].sample.key;
        let is_process = self.tasks[&account].sample.key.is_leader();
        let of = |t: &Task| t.sample.key.tgid == tgid;
        let ending: Vec<u64> = match is_process {
            true => self.tasks.iter().filter(|(_, t)| of(t)).map(|(&a, _)| a).collect(),
            false => vec![account],
        };
        let start_ns = self.leader(tgid).map_or(0, |leader| leader.sample.key.start_ns);
        let process = ProcessRef { tgid, start_ns };
        for account in ending {
            let task = self.tasks.remove(&account).expect("it lives");
            self.gone.push(AccountId(account));
            let of = if is_process { ProcessRef::default() } else { process };
            self.fold(of, &task, is_process && task.sample.key.is_leader());
        }
    }

    /// As in bpf/ledger/exits.h: adds the figures of this window to the exited group.
    fn fold(&mut self, of: ProcessRef, task: &Task, process: bool) {
        let ident = task.sample.ident;
        let same = |exit: &&mut ExitSample| {
            (exit.of, exit.comm, exit.cgroup_id, exit.uid, exit.session)
                == (of, ident.comm, ident.cgroup_id, Some(ident.uid), ident.session)
        };
        if self.exited.iter_mut().find(same).is_none() {
            let account = 1_000_000 + self.exited.len() as u64;
            let exit = samples::exited(account, Default::default(), ident.comm);
            let (cgroup_id, uid, session) = (ident.cgroup_id, Some(ident.uid), ident.session);
            self.exited.push(ExitSample { of, cgroup_id, uid, session, ..exit });
        }
        let group = self.exited.iter_mut().find(same).expect("it is there now");
        group.tasks += 1;
        group.processes += u64::from(process);
        group.life_ns += self.at_ns - task.sample.since_ns.max(self.t0_ns);
        group.counters.add(&task.so_far());
        self.ended.push(Ended { of, ident, process, used: task.used.clone() });
    }

    fn close(&mut self) -> Snapshot {
        self.pass(1_000);
        self.cpu.idle_ns += 1_000;
        if self.opened {
            self.truth.push(Grouping::MACHINE.into_iter().map(|by| (by, self.sums(by))).collect());
        }
        let moved = std::mem::take(&mut self.moved);
        self.moves.retain(|pair, _| moved.contains(pair));
        let first = !std::mem::replace(&mut self.opened, true);
        let told = |t: &&Task| first || t.touched;
        let mut counters = [Quality::Exact; Counter::COUNT];
        counters[Counter::StealNs as usize] = Quality::Exact;
        let snapshot = Snapshot {
            complete: first,
            tasks: self.tasks.values().filter(told).map(|t| t.sample).collect(),
            gone: std::mem::take(&mut self.gone),
            exited: self.exited.clone(),
            moves: self.moves.values().copied().collect(),
            groups: if first { names() } else { Vec::new() },
            cpus: vec![self.cpu],
            provenance: Provenance { counters, ..Provenance::new(SourceKind::Ledger) },
            ..samples::snapshot(SourceKind::Ledger, self.at_ns)
        };
        self.t0_ns = self.at_ns;
        self.ended.clear();
        for task in self.tasks.values_mut() {
            (task.at_t0, task.touched) = (task.sample.counters, false);
            task.used.clear();
        }
        snapshot
    }

    /// Sums of the window. Threads count for their process, with its identity at the end.
    fn sums(&self, by: Grouping) -> Sums {
        let mut sums = Sums::new();
        let mut add = |name: String, used: &Figures| {
            let sum = sums.entry(name).or_default();
            sum.iter_mut().zip(used).for_each(|(sum, ns)| *sum += ns);
        };
        let in_group = |group: u64| {
            let at = [
                Grouping::Cgroup,
                Grouping::Unit,
                Grouping::Container,
                Grouping::Pod,
                Grouping::Namespace,
            ];
            let at = at.iter().position(|of| *of == by).expect("a group's");
            NAMES[group as usize - 1][at].map_or("(rest)".to_string(), String::from)
        };
        let session = |ident: &Ident| ident.session.expect("all are in one").to_string();
        let living = |leader: &Task, uid: u32| match by {
            Grouping::Command => leader.sample.ident.comm.to_string(),
            Grouping::Process => format!("({})", leader.sample.key.tgid),
            Grouping::Session => session(&leader.sample.ident),
            _ => uid.to_string(),
        };
        for task in self.tasks.values() {
            for (&group, used) in &task.used {
                let leader = self.leader(task.sample.key.tgid).expect("it outlives its threads");
                let own = || living(leader, task.sample.ident.uid);
                add(if by.is_of_group() { in_group(group) } else { own() }, used);
            }
        }
        for Ended { of, ident, process, used } in &self.ended {
            let own = match self.leader(of.tgid) {
                Some(leader) => living(leader, leader.sample.ident.uid),
                None if by == Grouping::Process => format!("{} (exited)", ident.comm),
                None if by == Grouping::Command => ident.comm.to_string(),
                None if by == Grouping::Session => session(ident),
                None => ident.uid.to_string(),
            };
            for (&group, used) in used {
                add(if by.is_of_group() { in_group(group) } else { own.clone() }, used);
            }
            // The exit counts in the last group.
            let last = ident.cgroup_id.expect("all are in one");
            let exited = [0, 0, 0, u64::from(*process), 0];
            add(if by.is_of_group() { in_group(last) } else { own }, &exited);
        }
        sums.retain(|_, figures| figures.iter().any(|&ns| ns > 0));
        sums
    }
}

fn names() -> Vec<Arc<GroupName>> {
    let last = |name: &str| name.rsplit('/').next().map(String::from);
    let named = (1u64..).zip(NAMES).filter_map(|(id, [path, unit, container, pod, namespace])| {
        let named = Named {
            unit: unit.map(String::from),
            container: container.and_then(last),
            pod: pod.and_then(last),
            namespace: namespace.map(String::from),
            runtime: None,
        };
        let path = path?.as_bytes().to_vec();
        Some(Arc::new(GroupName { id, path, named: Arc::new(named) }))
    });
    named.collect()
}
