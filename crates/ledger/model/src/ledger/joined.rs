//! Joins consecutive windows into one: sums, never averages.
//!
//! A task's row in the sum stands for a task that lives at its end. If a task exited in a later
//! window, its figures from earlier windows move to its exited group. So the books of the sum close
//! as those of each window do.

use crate::blame::Blame;
use crate::ledger::audit::ExitAudit;
use crate::ledger::book::Book;
use crate::ledger::difference::fold_interrupts;
use crate::ledger::errors::ErrorKind;
use crate::ledger::exactness::RepairedTasks;
use crate::ledger::key::AccountId;
use crate::ledger::provenance::Degraded;
use crate::ledger::snapshot::{ExitSample, GroupMove, Outside, ProcessRef, Snapshot, TaskSample};
use crate::ledger::system::StatTicks;
use crate::ledger::window::{CpuDelta, ExitDelta, TaskDelta, Window};
use rustc_hash::{FxHashMap, FxHashSet};

/// The sum of windows. Call [`Joined::before`] before the book takes a snapshot and [`Joined::add`]
/// after.
#[derive(Clone, Debug, Default)]
pub struct Joined {
    t0_ns: Option<u64>,
    tasks: FxHashMap<AccountId, TaskDelta>,
    /// Exited groups by account. Earlier figures of tasks that ended are in `ended`.
    exited: FxHashMap<AccountId, ExitDelta>,
    ended: Vec<ExitDelta>,
    repaired: RepairedTasks,
    /// What tasks had used before the window in which they changed their control group.
    moves: Vec<GroupMove>,
    sum: Option<Window>,
}

impl Joined {
    /// Saves the figures so far of tasks with their first event and of tasks that end. The book has
    /// them for the last time now.
    pub fn before(&mut self, now: &Snapshot, book: &Book) {
        let Some(at_ns) = book.at_ns() else { return };
        let t0_ns = *self.t0_ns.get_or_insert(at_ns);
        if t0_ns == at_ns {
            return;
        }
        for sample in &now.tasks {
            if !self.tasks.contains_key(&sample.account) {
                let so_far = book.still(sample.account, t0_ns);
                self.tasks.extend(so_far.map(|task| (sample.account, task)));
            }
        }
        for account in book.ending(now) {
            let so_far = self.tasks.remove(&account).or_else(|| book.still(account, t0_ns));
            // A zombie has used nothing since its last sample.
            let so_far = so_far.filter(|task| task.life_ns > 0);
            self.ended.extend(so_far.map(|task| ended(&task, book)));
        }
    }

    /// Adds the window that the book made from the snapshot.
    pub fn add(&mut self, mut window: Window, book: &Book) {
        self.repaired.add(&window);
        self.fold_unmeasured_interrupts(&mut window);
        let tasks = std::mem::take(&mut window.tasks);
        let changed: FxHashSet<AccountId> = tasks.iter().map(|t| t.sample.account).collect();
        for task in tasks {
            add_task(&mut self.tasks, task, &mut self.moves);
        }
        let still: Vec<AccountId> =
            self.tasks.keys().filter(|account| !changed.contains(account)).copied().collect();
        for account in still {
            if let Some(task) = book.still(account, window.t0_ns) {
                add_task(&mut self.tasks, task, &mut self.moves);
            }
        }
        for exit in std::mem::take(&mut window.exited) {
            add_exit(&mut self.exited, exit);
        }
        self.sum = Some(match self.sum.take() {
            None => window,
            Some(sum) => add_rest(sum, window),
        });
    }

    /// If the sum or the next window did not measure interrupts, the sum does not tell them apart:
    /// in both, their time goes to what they interrupted. This must come before the two are added:
    /// the sum of a known and an unknown time is unknown.
    fn fold_unmeasured_interrupts(&mut self, window: &mut Window) {
        let Some(sum) = &mut self.sum else { return };
        if sum.measures_interrupts() && window.measures_interrupts() {
            return;
        }
        let tasks = self.tasks.values_mut().chain(&mut window.tasks).map(|t| &mut t.delta);
        let exited = self.exited.values_mut().chain(&mut self.ended).chain(&mut window.exited);
        let exited = exited.map(|e| &mut e.delta);
        let cpus = sum.cpus.iter_mut().chain(&mut window.cpus);
        let moves = self.moves.iter_mut().chain(&mut sum.moves).chain(&mut window.moves);
        let moved = moves.map(|moved| &mut moved.used);
        fold_interrupts(tasks.chain(exited).chain(moved), cpus);
        let outside = sum.outside.iter_mut().chain(&mut window.outside);
        outside.for_each(Outside::fold_interrupts);
        window.end.provenance.miss_interrupts();
    }

    /// The sum; `None` if no window was added.
    pub fn window(self) -> Option<Window> {
        let window = self.sum?;
        let mut tasks: Vec<TaskDelta> = self.tasks.into_values().collect();
        tasks.sort_unstable_by_key(|task| task.sample.account.0);
        let mut exited: Vec<ExitDelta> = self.exited.into_values().chain(self.ended).collect();
        exited.sort_by_key(|exit| exit.sample.account.0);
        let mut moves = window.moves;
        add_moves(&mut moves, &self.moves);
        Some(Window { tasks, exited, moves, repaired_tasks: self.repaired.count(), ..window })
    }
}

/// Adds everything but tasks and exited groups.
fn add_rest(mut sum: Window, mut window: Window) -> Window {
    let (before_ns, length_ns) = (sum.length_ns(), window.length_ns());
    add_cpus(&mut sum.cpus, &window.cpus, before_ns, length_ns);
    for &kind in ErrorKind::ALL {
        sum.errors.add(kind, window.errors.get(kind));
    }
    add_moves(&mut sum.moves, &window.moves);
    let degraded = &mut window.end.provenance.degraded;
    *degraded = Degraded::in_either(*degraded, sum.end.provenance.degraded);
    let blame = with_next(sum.blame.take(), window.blame.take());
    let cost = window.cost;
    sum.cost.user_ns += cost.user_ns;
    sum.cost.bpf_ns = both(sum.cost.bpf_ns, cost.bpf_ns);
    sum.cost.bpf_events = both(sum.cost.bpf_events, cost.bpf_events);
    sum.audit.add(&window.audit);
    let added = |then: StatTicks, now| then.with(&now, u64::wrapping_add);
    let ticks = window.cpu_ticks.iter().filter_map(|&(cpu, now)| {
        let then = sum.cpu_ticks.iter().find(|(n, _)| *n == cpu)?.1;
        Some((cpu, added(then, now)))
    });
    Window {
        t0_ns: sum.t0_ns,
        repaired_ns: both(sum.repaired_ns, window.repaired_ns),
        repaired_wait_ns: both(sum.repaired_wait_ns, window.repaired_wait_ns),
        audit: sum.audit,
        born: both(sum.born, window.born),
        ticks: sum.ticks.zip(window.ticks).map(|(then, now)| added(then, now)),
        cpu_ticks: ticks.collect(),
        cpus: sum.cpus,
        errors: sum.errors,
        moves: sum.moves,
        cost: sum.cost,
        outside: sum.outside.zip(window.outside).map(|(then, now)| then.and(&now)),
        blame,
        ..window
    }
}

/// Both blame books as one, if both windows have one.
fn with_next(then: Option<Blame>, now: Option<Blame>) -> Option<Blame> {
    let (mut then, now) = then.zip(now)?;
    then.add(&now);
    Some(then)
}

/// The sum, if both are known.
fn both(then: Option<u64>, now: Option<u64>) -> Option<u64> {
    then.zip(now).map(|(then, now)| then.wrapping_add(now))
}

/// Adds a task's next window. A changed control group takes over the figures from before; the
/// difference goes to `moves`.
fn add_task(
    tasks: &mut FxHashMap<AccountId, TaskDelta>,
    task: TaskDelta,
    moves: &mut Vec<GroupMove>,
) {
    let Some(sum) = tasks.get_mut(&task.sample.account) else {
        tasks.insert(task.sample.account, task);
        return;
    };
    let moved = sum.moved_to(task.sample.ident.cgroup_id);
    add_moves(moves, moved.as_slice());
    sum.sample = task.sample;
    sum.life_ns += task.life_ns;
    sum.delta.add(&task.delta);
    sum.audit = sum.audit.zip(task.audit).map(|(then, now)| then.and(&now));
}

fn add_exit(exited: &mut FxHashMap<AccountId, ExitDelta>, exit: ExitDelta) {
    let Some(sum) = exited.get_mut(&exit.sample.account) else {
        exited.insert(exit.sample.account, exit);
        return;
    };
    sum.sample = exit.sample;
    sum.processes += exit.processes;
    sum.tasks += exit.tasks;
    sum.life_ns += exit.life_ns;
    sum.delta.add(&exit.delta);
    sum.audit = sum.audit.and(&exit.audit);
}

/// The figures of a task before the window it ended in, as a part of its exited group. The exit
/// itself counts in the later window, not here.
pub(crate) fn ended(task: &TaskDelta, book: &Book) -> ExitDelta {
    let TaskSample { account, key, ident, .. } = task.sample;
    let mut ancestors = [ProcessRef::default(); 8];
    let mut above = ident.ppid;
    for ancestor in &mut ancestors {
        let leader = book.process(above).and_then(|process| book.task(process.leader?));
        let Some(leader) = leader else { break };
        *ancestor = ProcessRef { tgid: above, start_ns: leader.key.start_ns };
        above = leader.ident.ppid;
    }
    let leader = book.process(key.tgid).and_then(|process| book.task(process.leader?));
    let of = leader.filter(|_| !key.is_leader()).map_or_else(ProcessRef::default, |leader| {
        ProcessRef { tgid: key.tgid, start_ns: leader.key.start_ns }
    });
    // The audit before a task's first window is unknown.
    let audit = task.audit.map_or_else(ExitAudit::default, |audit| audit.at_exit());
    let sample = ExitSample {
        account,
        of,
        ancestors,
        comm: ident.comm,
        cgroup_id: ident.cgroup_id,
        uid: Some(ident.uid),
        session: ident.session,
        tree: task.sample.tree,
        processes: 0,
        tasks: 0,
        life_ns: 0,
        counters: task.delta,
        audit,
    };
    ExitDelta { sample, processes: 0, tasks: 0, life_ns: task.life_ns, delta: task.delta, audit }
}

/// A CPU that is in only one of the windows was offline in the other.
fn add_cpus(sum: &mut Vec<CpuDelta>, window: &[CpuDelta], before_ns: u64, length_ns: u64) {
    for cpu in sum.iter_mut() {
        match window.iter().find(|other| other.time.cpu == cpu.time.cpu) {
            None => cpu.time.offline_ns += length_ns,
            Some(other) => add_cpu(cpu, other),
        }
    }
    for other in window {
        if !sum.iter().any(|cpu| cpu.time.cpu == other.time.cpu) {
            let mut cpu = *other;
            cpu.time.offline_ns += before_ns;
            sum.push(cpu);
        }
    }
    sum.sort_unstable_by_key(|cpu| cpu.time.cpu);
}

fn add_cpu(sum: &mut CpuDelta, other: &CpuDelta) {
    sum.residual_ns = sum.residual_ns.wrapping_add(other.residual_ns);
    let (sum, other) = (&mut sum.time, &other.time);
    sum.online = other.online;
    sum.task_ns = sum.task_ns.wrapping_add(other.task_ns);
    sum.unnamed_ns = sum.unnamed_ns.wrapping_add(other.unnamed_ns);
    sum.idle_ns = sum.idle_ns.wrapping_add(other.idle_ns);
    sum.no_name_ns = sum.no_name_ns.wrapping_add(other.no_name_ns);
    sum.no_name_processes = sum.no_name_processes.wrapping_add(other.no_name_processes);
    sum.offline_ns = sum.offline_ns.wrapping_add(other.offline_ns);
    sum.irq_ns = both(sum.irq_ns, other.irq_ns);
    sum.irq_idle_ns = both(sum.irq_idle_ns, other.irq_idle_ns);
    sum.steal_ns = both(sum.steal_ns, other.steal_ns);
    sum.steal_idle_ns = both(sum.steal_idle_ns, other.steal_idle_ns);
    sum.switches = both(sum.switches, other.switches);
    sum.missed_switches = both(sum.missed_switches, other.missed_switches);
    sum.watched_ns = both(sum.watched_ns, other.watched_ns);
    sum.watched_dispatches = both(sum.watched_dispatches, other.watched_dispatches);
}

fn add_moves(sum: &mut Vec<GroupMove>, moves: &[GroupMove]) {
    for moved in moves {
        match sum.iter_mut().find(|m| (m.from, m.to) == (moved.from, moved.to)) {
            None => sum.push(*moved),
            Some(sum) => sum.add(&moved.used),
        }
    }
}
