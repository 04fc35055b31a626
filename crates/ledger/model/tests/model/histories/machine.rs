//! A machine with two CPUs. It charges its own accounts at every event, and makes snapshots as a
//! source does: complete ones, or only changes.

use super::exits::{ExitedTask, Exits};
use exactop_model::ledger::snapshot::ProcessRef;
use exactop_model::{
    AccountId, Comm, Counter, Counters, CpuSample, Ident, MicroState, Provenance, Quality,
    Snapshot, SourceKind, TaskKey, TaskSample,
};
use exactop_testkit::samples;
use std::collections::BTreeMap;

pub const CPUS: usize = 2;

/// The process that adopts orphans and never exits.
pub const INIT: u32 = 1;

/// Flag in the account of a zombie. The use of the task is in its exited group.
const ZOMBIE: u64 = 1 << 63;

#[derive(Clone, Debug)]
pub struct Task {
    pub key: TaskKey,
    /// Its parent process.
    pub parent: u32,
    pub comm: Comm,
    pub state: MicroState,
    cpu: Option<usize>,
    /// Charged up to this time.
    since: u64,
    born: u64,
    pub counters: Counters,
    /// Counters at the start of the window.
    pub at_t0: Counters,
    /// True if it had an event in the window.
    touched: bool,
}

/// Both kinds of snapshot of the same instant.
pub struct SnapshotPair {
    pub complete: Snapshot,
    pub changes: Snapshot,
}

pub struct Machine {
    pub now: u64,
    t0: u64,
    pub tasks: BTreeMap<u64, Task>,
    gone: Vec<AccountId>,
    cpus: [CpuSample; CPUS],
    /// Idle CPUs are charged up to this time.
    idle_since: [u64; CPUS],
    pub exits: Exits,
    accounts: u64,
    born: u64,
    /// True while interrupts, a quarter of each stay on a CPU, are told apart.
    measures_irq: bool,
    /// True if that changed in the open window.
    changed_irq: bool,
}

impl Machine {
    /// A machine on which only init lives, asleep.
    pub fn new() -> Machine {
        let mut machine = Machine {
            now: 1_000,
            t0: 1_000,
            tasks: BTreeMap::new(),
            gone: Vec::new(),
            cpus: std::array::from_fn(|cpu| CpuSample {
                irq_ns: Some(0),
                irq_idle_ns: Some(0),
                ..samples::cpu(cpu as u32)
            }),
            idle_since: [1_000; CPUS],
            exits: Exits::default(),
            accounts: 0,
            born: 0,
            measures_irq: false,
            changed_irq: false,
        };
        machine.make(INIT, INIT, 0, Comm::new(b"init"));
        machine
    }

    fn make(&mut self, tgid: u32, tid: u32, parent: u32, comm: Comm) -> u64 {
        self.accounts += 1;
        self.born += 1;
        let task = Task {
            key: TaskKey { tgid, tid, start_ns: self.now },
            parent,
            comm,
            state: MicroState::Sleep,
            cpu: None,
            since: self.now,
            born: self.now,
            counters: Counters::zero(),
            at_t0: Counters::zero(),
            touched: true,
        };
        self.tasks.insert(self.accounts, task);
        self.accounts
    }

    /// Makes a process.
    pub fn fork(&mut self, parent: u32, pid: u32, comm: Comm) -> u64 {
        self.make(pid, pid, parent, comm)
    }

    /// Makes a thread of the process.
    pub fn clone_thread(&mut self, tgid: u32, tid: u32) -> u64 {
        let leader = self.leader(tgid).expect("a process").1.clone();
        self.make(tgid, tid, leader.parent, leader.comm)
    }

    /// The leader of a process with its account; it may be a zombie.
    pub fn leader(&self, tgid: u32) -> Option<(u64, &Task)> {
        let of = |t: &Task| t.key.tgid == tgid && t.key.is_leader();
        self.tasks.iter().find(|(_, t)| of(t)).map(|(&a, t)| (a, t))
    }

    /// True if a task has this number.
    pub fn is_taken(&self, pid: u32) -> bool {
        self.tasks.values().any(|t| t.key.tid == pid || t.key.tgid == pid)
    }

    /// Charges a task up to now.
    fn charge(&mut self, account: u64) {
        let now = self.now;
        let Some(task) = self.tasks.get_mut(&account) else { return };
        let all_ns = now - task.since;
        let irq_ns = if self.measures_irq && task.cpu.is_some() { all_ns / 4 } else { 0 };
        for &counter in task.state.counters() {
            task.counters.bump(counter, all_ns - irq_ns);
        }
        task.counters.bump(Counter::IrqNs, irq_ns);
        if let Some(cpu) = task.cpu.map(|cpu| &mut self.cpus[cpu]) {
            cpu.task_ns += all_ns - irq_ns;
            cpu.irq_ns = cpu.irq_ns.map(|ns| ns + irq_ns);
        }
        task.since = now;
    }

    /// Begins or ends measuring interrupts, at most once in a window.
    pub fn measure_irq(&mut self) {
        if !std::mem::replace(&mut self.changed_irq, true) {
            self.charge_all();
            self.measures_irq = !self.measures_irq;
        }
    }

    fn charge_all(&mut self) {
        self.charge_idle();
        for account in self.tasks.keys().copied().collect::<Vec<_>>() {
            self.charge(account);
        }
    }

    fn charge_idle(&mut self) {
        let now = self.now;
        for cpu in 0..CPUS {
            if self.running(cpu).is_none() {
                self.cpus[cpu].idle_ns += now - self.idle_since[cpu];
            }
            self.idle_since[cpu] = now;
        }
    }

    /// The task on a CPU.
    pub fn running(&self, cpu: usize) -> Option<u64> {
        self.tasks.iter().find(|(_, t)| t.cpu == Some(cpu)).map(|(&a, _)| a)
    }

    /// Puts a task into a state. If it is to run, another task may have to leave the CPU.
    pub fn set(&mut self, account: u64, state: MicroState, cpu: usize) {
        if state == MicroState::Run {
            if let Some(other) = self.running(cpu).filter(|&other| other != account) {
                self.set(other, MicroState::LatPreempt, 0);
            }
        }
        self.charge_idle();
        self.charge(account);
        let Some(task) = self.tasks.get_mut(&account) else { return };
        if state == MicroState::Run && task.state != MicroState::Run {
            task.counters.bump(Counter::Dispatches, 1);
        }
        task.state = state;
        task.cpu = (state == MicroState::Run).then_some(cpu);
        task.touched = true;
    }

    /// Executes a new program in any thread. The other threads end, and the thread takes the
    /// leader's place and number. Its account stays.
    pub fn exec(&mut self, account: u64, comm: Comm) {
        self.charge_idle();
        self.charge(account);
        let tgid = self.tasks[&account].key.tgid;
        let leader_start = self.leader(tgid).map(|(_, t)| t.key.start_ns);
        for other in self.threads(tgid).into_iter().filter(|&other| other != account) {
            self.end(other, false, false);
        }
        let Some(task) = self.tasks.get_mut(&account) else { return };
        task.key.tid = tgid;
        task.key.start_ns = leader_start.unwrap_or(task.key.start_ns);
        task.comm = comm;
        task.touched = true;
    }

    /// The living threads of a process.
    pub fn threads(&self, tgid: u32) -> Vec<u64> {
        let of = |t: &&Task| t.key.tgid == tgid && t.state != MicroState::Zombie;
        let threads = self.tasks.iter().filter(|(_, t)| of(t));
        threads.map(|(&account, _)| account).collect()
    }

    /// Ends one thread; its process lives on.
    pub fn end_thread(&mut self, account: u64) {
        self.charge_idle();
        self.end(account, false, false);
    }

    /// Ends a process with all its threads; init adopts its children.
    pub fn end_process(&mut self, tgid: u32, zombie: bool) {
        self.charge_idle();
        let leader = self.leader(tgid).map(|(account, _)| account);
        for thread in self.threads(tgid).into_iter().filter(|&t| Some(t) != leader) {
            self.end(thread, true, false);
        }
        if let Some(leader) = leader {
            self.end(leader, true, zombie);
        }
        for child in self.tasks.values_mut().filter(|t| t.parent == tgid) {
            child.parent = INIT;
            child.touched = true;
        }
    }

    fn end(&mut self, account: u64, whole: bool, zombie: bool) {
        self.charge(account);
        let chain = self.ancestors(self.tasks[&account].parent);
        let process = self.process(self.tasks[&account].key.tgid);
        let Some(mut task) = self.tasks.remove(&account) else { return };
        let is_leader = task.key.is_leader();
        self.exits.add(ExitedTask {
            of: if whole { ProcessRef::default() } else { process },
            ancestors: chain,
            comm: task.comm,
            processes: u64::from(whole && is_leader),
            life_ns: self.now - task.born.max(self.t0),
            did: task.counters.since(&task.at_t0).0,
        });
        self.gone.push(AccountId(account));
        if zombie {
            (task.state, task.cpu) = (MicroState::Zombie, None);
            (task.counters, task.at_t0) = (Counters::zero(), Counters::zero());
            (task.since, task.born, task.touched) = (self.now, self.now, true);
            self.tasks.insert(account | ZOMBIE, task);
        }
    }

    /// A parent waits for a zombie.
    pub fn reap(&mut self, account: u64) {
        if self.tasks.remove(&account).is_some() {
            self.gone.push(AccountId(account));
        }
    }

    fn process(&self, tgid: u32) -> ProcessRef {
        let start_ns = self.leader(tgid).map_or(0, |(_, t)| t.key.start_ns);
        ProcessRef { tgid, start_ns }
    }

    /// A process and its ancestors, nearest first, as many as a snapshot holds.
    fn ancestors(&self, mut tgid: u32) -> [ProcessRef; 8] {
        std::array::from_fn(|_| {
            let Some((_, leader)) = self.leader(tgid) else { return ProcessRef::default() };
            let process = ProcessRef { tgid, start_ns: leader.key.start_ns };
            tgid = leader.parent;
            process
        })
    }

    /// Closes the window.
    pub fn close(&mut self) -> SnapshotPair {
        self.charge_all();
        self.changed_irq = false;
        let sample = |changed: bool| {
            // The flush of a CPU charges the task on it, so that task had an event.
            let told = |t: &&Task| !changed || t.touched || t.state == MicroState::Run;
            let tasks = self.tasks.iter().filter(|(_, t)| told(t));
            tasks.map(|(&account, task)| sample(account, task)).collect::<Vec<_>>()
        };
        let (everyone, changed) = (sample(false), sample(true));
        let complete = self.snapshot(everyone, true, Vec::new());
        let changes = self.snapshot(changed, false, self.gone.clone());
        self.gone.clear();
        self.exits.next_window();
        self.t0 = self.now;
        for task in self.tasks.values_mut() {
            (task.at_t0, task.touched) = (task.counters, false);
        }
        SnapshotPair { complete, changes }
    }

    fn snapshot(&self, tasks: Vec<TaskSample>, complete: bool, gone: Vec<AccountId>) -> Snapshot {
        let empty = samples::snapshot(SourceKind::Ledger, self.now);
        let irq = if self.measures_irq { Quality::Exact } else { Quality::Missing };
        Snapshot {
            provenance: Provenance { irq, ..empty.provenance.clone() },
            complete,
            tasks,
            gone,
            exited: self.exits.samples(),
            moves: Vec::new(),
            groups: Vec::new(),
            cpus: self.cpus.to_vec(),
            born: Some(self.born),
            ..empty
        }
    }
}

fn sample(account: u64, task: &Task) -> TaskSample {
    let ident = Ident { ppid: task.parent, comm: task.comm, ..Ident::default() };
    TaskSample {
        state: task.state,
        letter: letter(task.state),
        since_ns: task.born,
        counters: task.counters,
        ..samples::task(account, task.key, ident)
    }
}

/// State letter as top shows it.
pub fn letter(state: MicroState) -> char {
    match state {
        MicroState::Run | MicroState::Lat | MicroState::LatPreempt => 'R',
        MicroState::Block => 'D',
        MicroState::Stop => 'T',
        MicroState::Zombie => 'Z',
        _ => 'S',
    }
}
