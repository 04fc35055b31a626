//! From cumulative to "in this window": the only place that subtracts.
//!
//! A source that is told what changed (the ledger) sends only the tasks that did something; the
//! others are still in the state they were in, so their time in the window is known without
//! looking: the whole window, in that state. The [`Book`] keeps the last sample of everyone and
//! does that arithmetic.

use crate::counters::{Counter, Counters};
use crate::errors::{ErrorCounts, ErrorKind};
use crate::key::AccountId;
use crate::provenance::Quality;
use crate::snapshot::{CostSample, CpuSample, ExitSample, MicroState, Snapshot, TaskSample};
use crate::system::StatTicks;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// One task in one window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaskDelta {
    /// The task as of the window's end; its counters are cumulative.
    pub sample: TaskSample,
    /// The part of its life inside the window.
    pub life_ns: u64,
    /// What its counters did in the window.
    pub delta: Counters,
}

/// One group of exited tasks in one window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExitDelta {
    /// The group; its counters are cumulative.
    pub sample: ExitSample,
    /// Processes that exited in the window.
    pub processes: u64,
    /// Tasks that exited in the window.
    pub tasks: u64,
    /// Sum of their lifetimes inside the window.
    pub life_ns: u64,
    /// What they did in the window.
    pub delta: Counters,
}

/// One CPU in one window; the fields are differences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuDelta {
    /// The differences; `cpu` and `online` are as of the end.
    pub time: CpuSample,
    /// The window minus the sum of this CPU's accounts.
    pub residual_ns: i64,
}

/// What happened in (T0, T1].
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// The start, exclusive.
    pub t0_ns: u64,
    /// The end, inclusive.
    pub t1_ns: u64,
    /// Tasks that did something, or everyone if the source reads everyone.
    pub tasks: Vec<TaskDelta>,
    /// Groups in which a task exited.
    pub exited: Vec<ExitDelta>,
    /// CPUs that were online at any time in the window.
    pub cpus: Vec<CpuDelta>,
    /// Missed and impossible events in the window.
    pub errors: ErrorCounts,
    /// How much CPU time was set right after missed switches.
    pub repaired_ns: Option<u64>,
    /// Tasks born in the window.
    pub born: Option<u64>,
    /// The kernel's own tick counts over the window, where read.
    pub ticks: Option<StatTicks>,
    /// The same for each CPU.
    pub cpu_ticks: Vec<(u32, StatTicks)>,
    /// What looking cost in the window.
    pub cost: CostSample,
    /// The snapshot at the end, without its tasks and exited groups.
    pub end: Snapshot,
}

impl Window {
    /// Its length.
    pub fn length_ns(&self) -> u64 {
        self.t1_ns - self.t0_ns
    }
}

/// How many tasks there are, by state letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct Census {
    pub total: u32,
    /// R.
    pub running: u32,
    /// S and I.
    pub sleeping: u32,
    /// D.
    pub blocked: u32,
    /// T and t.
    pub stopped: u32,
    /// Z.
    pub zombie: u32,
}

impl Census {
    fn count(&mut self, letter: char, by: i32) {
        let add = |n: &mut u32| *n = n.wrapping_add_signed(by);
        add(&mut self.total);
        match letter {
            'R' => add(&mut self.running),
            'D' => add(&mut self.blocked),
            'T' | 't' => add(&mut self.stopped),
            'Z' => add(&mut self.zombie),
            _ => add(&mut self.sleeping),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Known {
    sample: TaskSample,
    as_of_ns: u64,
    round: u64,
}

impl Known {
    /// The counters at a later instant up to which nothing happened to the task.
    fn counters_at(&self, at_ns: u64) -> Counters {
        let mut counters = self.sample.counters;
        for &counter in self.sample.state.counters() {
            counters.bump(counter, at_ns.saturating_sub(self.as_of_ns));
        }
        counters
    }
}

/// A process as the book knows it.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct ProcessEntry {
    /// Its leader's account, unless the leader was never seen.
    pub leader: Option<AccountId>,
    pub tasks: Vec<AccountId>,
}

/// Everything known of everyone as of the last snapshot.
#[derive(Debug, Default)]
pub struct Book {
    last: Option<Snapshot>,
    tasks: FxHashMap<AccountId, Known>,
    /// In order, so that the first few that fill a screen are found without looking at all.
    processes: BTreeMap<u32, ProcessEntry>,
    exits: FxHashMap<AccountId, ExitSample>,
    /// Counters of tasks and exited groups that ran backwards so far; the source counts its own.
    backwards: u64,
    round: u64,
    all: Census,
    leaders: Census,
    /// Interrupts were measured in all of the last window.
    interrupts: bool,
}

impl Book {
    /// An empty book.
    pub fn new() -> Book {
        Book::default()
    }

    /// Takes the next snapshot. The first only opens the book.
    pub fn advance(&mut self, mut snapshot: Snapshot) -> Option<Window> {
        self.round += 1;
        let samples = std::mem::take(&mut snapshot.tasks);
        let exits = std::mem::take(&mut snapshot.exited);
        let gone = std::mem::take(&mut snapshot.gone);
        let t0_ns = self.last.as_ref().map(|s| s.at_ns);
        let mut backwards = 0;
        let mut tasks = Vec::with_capacity(samples.len());
        for sample in samples {
            let (task, back) = self.post(sample, t0_ns, snapshot.at_ns);
            backwards += back;
            tasks.extend(task);
        }
        self.close_accounts(gone, snapshot.complete);
        let exited = self.post_exits(exits, &mut backwards);
        self.backwards += backwards;
        snapshot.errors.add(ErrorKind::Backwards, self.backwards);
        self.interrupts =
            self.last.as_ref().is_some_and(|last| interrupts_are_measured(last, &snapshot));
        let window = self.last.as_ref().map(|last| difference(last, &snapshot, tasks, exited));
        self.last = Some(snapshot);
        window
    }

    /// Enters one sample; yields its row in the window that ends now, and how many counters ran
    /// backwards.
    fn post(
        &mut self,
        sample: TaskSample,
        t0_ns: Option<u64>,
        t1_ns: u64,
    ) -> (Option<TaskDelta>, u64) {
        let known = Known { sample, as_of_ns: t1_ns, round: self.round };
        let before = self.tasks.insert(sample.account, known);
        self.recount(before.map(|k| k.sample), Some(sample));
        let Some(t0_ns) = t0_ns else { return (None, 0) };
        let (delta, backwards) = match before {
            Some(before) => sample.counters.since(&before.counters_at(t0_ns)),
            None if sample.since_ns >= t0_ns => (sample.counters, 0),
            // First seen now though it lived before: what it did in this window is not known.
            None => (Counters::unknown(), 0),
        };
        let life_ns = life_in(&sample, t0_ns, t1_ns);
        (Some(TaskDelta { sample, life_ns, delta }), backwards)
    }

    fn close_accounts(&mut self, gone: Vec<AccountId>, complete: bool) {
        let mut gone = gone;
        if complete {
            let round = self.round;
            gone = self.tasks.iter().filter(|(_, k)| k.round != round).map(|(&a, _)| a).collect();
        }
        for account in gone {
            if let Some(known) = self.tasks.remove(&account) {
                self.recount(Some(known.sample), None);
            }
        }
    }

    /// Keeps the census and the list of processes true when a task comes, changes or goes.
    fn recount(&mut self, before: Option<TaskSample>, after: Option<TaskSample>) {
        for (sample, by) in [(before, -1), (after, 1)] {
            let Some(sample) = sample else { continue };
            self.all.count(sample.letter, by);
            if sample.key.is_leader() {
                self.leaders.count(sample.letter, by);
            }
        }
        if before.map(|s| s.key) == after.map(|s| s.key) {
            return;
        }
        if let Some(before) = before {
            self.leave_process(&before);
        }
        if let Some(after) = after {
            let entry = self.processes.entry(after.key.tgid).or_default();
            entry.tasks.push(after.account);
            if after.key.is_leader() {
                entry.leader = Some(after.account);
            }
        }
    }

    fn leave_process(&mut self, sample: &TaskSample) {
        let Some(entry) = self.processes.get_mut(&sample.key.tgid) else { return };
        entry.tasks.retain(|&a| a != sample.account);
        if entry.leader == Some(sample.account) {
            entry.leader = None;
        }
        if entry.tasks.is_empty() {
            self.processes.remove(&sample.key.tgid);
        }
    }

    fn post_exits(&mut self, samples: Vec<ExitSample>, backwards: &mut u64) -> Vec<ExitDelta> {
        let mut now = FxHashMap::default();
        let mut deltas = Vec::new();
        let first = self.last.is_none();
        for sample in samples {
            let before = self.exits.get(&sample.account);
            let (delta, back) = match before {
                Some(before) => sample.counters.since(&before.counters),
                None => (sample.counters, 0),
            };
            *backwards += back;
            let less =
                |now: u64, then: fn(&ExitSample) -> u64| now.saturating_sub(before.map_or(0, then));
            let tasks = less(sample.tasks, |b| b.tasks);
            if tasks > 0 && !first {
                let processes = less(sample.processes, |b| b.processes);
                let life_ns = less(sample.life_ns, |b| b.life_ns);
                deltas.push(ExitDelta { sample, processes, tasks, life_ns, delta });
            }
            now.insert(sample.account, sample);
        }
        self.exits = now;
        deltas
    }

    /// The instant of the last snapshot.
    pub fn at_ns(&self) -> Option<u64> {
        self.last.as_ref().map(|s| s.at_ns)
    }

    /// All tasks by state.
    pub fn census(&self) -> Census {
        self.all
    }

    /// All processes by their leader's state.
    pub fn process_census(&self) -> Census {
        self.leaders
    }

    /// The tasks of a process.
    pub fn process(&self, tgid: u32) -> Option<&ProcessEntry> {
        self.processes.get(&tgid)
    }

    /// All processes, by tgid.
    pub fn processes(&self) -> impl Iterator<Item = (u32, &ProcessEntry)> {
        self.processes.iter().map(|(&tgid, entry)| (tgid, entry))
    }

    /// The last sample of a task, counters as of the last change.
    pub fn task(&self, account: AccountId) -> Option<&TaskSample> {
        self.tasks.get(&account).map(|k| &k.sample)
    }

    /// The row of a task that did nothing in the window ending at the last snapshot: all of it in
    /// one state.
    pub fn still(&self, account: AccountId, t0_ns: u64) -> Option<TaskDelta> {
        let known = self.tasks.get(&account)?;
        let t1_ns = self.at_ns()?;
        let life_ns = life_in(&known.sample, t0_ns, t1_ns);
        let mut sample = known.sample;
        sample.counters = known.counters_at(t1_ns);
        let (mut delta, _) = sample.counters.since(&known.counters_at(t0_ns.max(known.as_of_ns)));
        if !self.interrupts {
            delta.fold(Counter::IrqNs, Counter::RunNs);
        }
        Some(TaskDelta { sample, life_ns, delta })
    }
}

/// The part of a task's life inside a window. A zombie has none left.
fn life_in(sample: &TaskSample, t0_ns: u64, t1_ns: u64) -> u64 {
    match sample.state {
        MicroState::Zombie => 0,
        _ => t1_ns.saturating_sub(sample.since_ns.max(t0_ns)),
    }
}

/// Whether interrupts were measured from one snapshot to the other. Where they were for a part of
/// the time only, what was measured goes back to whom they hit.
fn interrupts_are_measured(last: &Snapshot, now: &Snapshot) -> bool {
    [last, now].iter().all(|snapshot| snapshot.provenance.irq != Quality::Missing)
}

fn fold_interrupts(tasks: &mut [TaskDelta], exited: &mut [ExitDelta], cpus: &mut [CpuDelta]) {
    let tasks = tasks.iter_mut().map(|t| &mut t.delta);
    let exited = exited.iter_mut().map(|e| &mut e.delta);
    tasks.chain(exited).for_each(|delta| delta.fold(Counter::IrqNs, Counter::RunNs));
    for time in cpus.iter_mut().map(|c| &mut c.time) {
        if let (Some(all), Some(idle)) = (time.irq_ns.take(), time.irq_idle_ns.take()) {
            time.idle_ns = time.idle_ns.wrapping_add(idle);
            time.task_ns = time.task_ns.wrapping_add(all.wrapping_sub(idle));
        }
    }
}

/// What changed on the machine between two snapshots.
fn difference(
    last: &Snapshot,
    now: &Snapshot,
    mut tasks: Vec<TaskDelta>,
    mut exited: Vec<ExitDelta>,
) -> Window {
    let (t0_ns, t1_ns) = (last.at_ns, now.at_ns);
    let mut cpus = cpu_differences(last, now);
    if !interrupts_are_measured(last, now) {
        fold_interrupts(&mut tasks, &mut exited, &mut cpus);
    }
    let ticks_of = |now: Option<StatTicks>, then: Option<StatTicks>| {
        now.zip(then).map(|(now, then)| now.since(&then))
    };
    let then_ticks = |cpu| last.system.cpu_ticks.iter().find(|(n, _)| *n == cpu).map(|t| t.1);
    Window {
        t0_ns,
        t1_ns,
        tasks,
        exited,
        cpus,
        errors: now.errors.since(&last.errors),
        repaired_ns: minus(now.repaired_ns, last.repaired_ns),
        born: now.born.zip(last.born).map(|(now, then)| now.saturating_sub(then)),
        ticks: ticks_of(now.system.ticks, last.system.ticks),
        cpu_ticks: now
            .system
            .cpu_ticks
            .iter()
            .filter_map(|&(cpu, t)| Some((cpu, ticks_of(Some(t), then_ticks(cpu))?)))
            .collect(),
        cost: CostSample {
            user_ns: now.cost.user_ns.saturating_sub(last.cost.user_ns),
            bpf_ns: minus(now.cost.bpf_ns, last.cost.bpf_ns),
            bpf_events: minus(now.cost.bpf_events, last.cost.bpf_events),
        },
        end: now.clone(),
    }
}

/// Known where both are and time ran forwards.
fn minus(now: Option<u64>, then: Option<u64>) -> Option<u64> {
    now?.checked_sub(then?)
}

fn cpu_differences(last: &Snapshot, now: &Snapshot) -> Vec<CpuDelta> {
    let length_ns = now.at_ns - last.at_ns;
    let same_watch = now.watch.is_some() && now.watch == last.watch;
    let watched = |now, then| minus(now, then).filter(|_| same_watch);
    now.cpus
        .iter()
        .filter_map(|cpu| {
            let then = last.cpus.iter().find(|c| c.cpu == cpu.cpu)?;
            let time = CpuSample {
                cpu: cpu.cpu,
                online: cpu.online,
                // Wrapping: a step back shows as an absurd residual instead of being hidden.
                task_ns: cpu.task_ns.wrapping_sub(then.task_ns),
                unnamed_ns: cpu.unnamed_ns.wrapping_sub(then.unnamed_ns),
                idle_ns: cpu.idle_ns.wrapping_sub(then.idle_ns),
                no_group_ns: cpu.no_group_ns.wrapping_sub(then.no_group_ns),
                no_group_processes: cpu.no_group_processes.wrapping_sub(then.no_group_processes),
                offline_ns: cpu.offline_ns.wrapping_sub(then.offline_ns),
                irq_ns: minus(cpu.irq_ns, then.irq_ns),
                irq_idle_ns: minus(cpu.irq_idle_ns, then.irq_idle_ns),
                steal_ns: minus(cpu.steal_ns, then.steal_ns),
                steal_idle_ns: minus(cpu.steal_idle_ns, then.steal_idle_ns),
                switches: minus(cpu.switches, then.switches),
                missed_switches: minus(cpu.missed_switches, then.missed_switches),
                watched_ns: watched(cpu.watched_ns, then.watched_ns),
                watched_dispatches: watched(cpu.watched_dispatches, then.watched_dispatches),
            };
            let extra = time.irq_ns.unwrap_or(0) + time.steal_ns.unwrap_or(0);
            let sum = [time.task_ns, time.unnamed_ns, time.idle_ns, time.offline_ns, extra]
                .iter()
                .fold(0u64, |a, &b| a.wrapping_add(b));
            let residual_ns = length_ns.wrapping_sub(sum) as i64;
            (time.offline_ns < length_ns).then_some(CpuDelta { time, residual_ns })
        })
        .collect()
}
