//! Turns cumulative figures into the figures of a window.
//!
//! A snapshot of the ledger has only the tasks with an event. Every other task spent the whole
//! window in its last state. The [`Book`] keeps the last sample of each task and computes both
//! cases.

use crate::ledger::audit::TaskAudit;
use crate::ledger::counters::{Counter, Counters};
use crate::ledger::difference::{difference, interrupts_are_measured};
use crate::ledger::errors::ErrorKind;
use crate::ledger::group_names::GroupNames;
use crate::ledger::key::{AccountId, Comm, Ident, TaskKey};
use crate::ledger::named::{GroupName, Named};
use crate::ledger::snapshot::{ExitSample, MicroState, ProcessRef, Snapshot, TaskSample};
use crate::ledger::window::{Census, ExitDelta, TaskDelta, Window};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Clone, Copy, Debug)]
struct LastSample {
    sample: TaskSample,
    as_of_ns: u64,
    round: u64,
}

impl LastSample {
    /// The counters at a later instant, if the task has no event until then.
    fn counters_at(&self, at_ns: u64) -> Counters {
        self.sample.counters_after(at_ns.saturating_sub(self.as_of_ns))
    }
}

/// What represents a process.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub struct Leader {
    pub account: AccountId,
    pub key: TaskKey,
    pub ident: Ident,
}

/// A process in the book.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct ProcessEntry {
    /// Account of the leader; `None` if the leader was never seen.
    pub leader: Option<AccountId>,
    pub tasks: Vec<AccountId>,
    /// State letter of the leader.
    leading: Option<char>,
    /// Number of its tasks with the letter R.
    running: u32,
}

impl ProcessEntry {
    /// The task that represents the process: its leader. If the leader was never seen, it is the
    /// task with the lowest account, so that every caller gets the same task.
    pub fn head(&self) -> Option<AccountId> {
        self.leader.or_else(|| self.tasks.iter().copied().min())
    }

    /// State letter of its row: the leader's, or R if another thread runs.
    fn letter(&self) -> Option<char> {
        self.leading.map(|letter| if self.running > 0 { 'R' } else { letter })
    }

    /// Counts one task more or less in its state.
    fn count(&mut self, sample: &TaskSample, by: i32) {
        if sample.letter == 'R' {
            self.running = self.running.wrapping_add_signed(by);
        }
        // After an exec, another task is the leader; only this one counts.
        if self.leader == Some(sample.account) {
            self.leading = (by > 0).then_some(sample.letter);
        }
    }
}

/// The state of all tasks and exited groups as of the last snapshot.
#[derive(Debug, Default)]
pub struct Book {
    last: Option<Snapshot>,
    /// Boxed: with large values in the table, its free slots would waste memory.
    tasks: FxHashMap<AccountId, Box<LastSample>>,
    /// Ordered, so that the first few processes for a screen are found without a scan.
    processes: BTreeMap<u32, ProcessEntry>,
    exits: FxHashMap<AccountId, ExitSample>,
    /// Tasks that wait for a CPU or a quota as of the last snapshot.
    waiting: FxHashSet<AccountId>,
    groups: GroupNames,
    /// Names of processes whose leader was never seen, by tgid.
    leader_names: FxHashMap<u32, Comm>,
    /// Number of counters of tasks and exited groups that decreased so far. The source counts the
    /// decreases that it sees.
    backwards: u64,
    round: u64,
    all: Census,
    by_process: Census,
    /// True if interrupts were measured throughout the last window.
    interrupts: bool,
}

impl Book {
    /// An empty book.
    pub fn new() -> Book {
        Book::default()
    }

    /// Takes the next snapshot and returns the window that it closes. The first snapshot only opens
    /// the book.
    pub fn advance(&mut self, mut snapshot: Snapshot) -> Option<Window> {
        self.round += 1;
        let samples = std::mem::take(&mut snapshot.tasks);
        let exits = std::mem::take(&mut snapshot.exited);
        let gone = std::mem::take(&mut snapshot.gone);
        let blame = snapshot.blame.take();
        let t0_ns = self.last.as_ref().map(|s| s.at_ns);
        let mut backwards = 0;
        let mut tasks = Vec::with_capacity(samples.len());
        for sample in samples {
            let (task, back) = self.post(sample, t0_ns, snapshot.at_ns);
            backwards += back;
            tasks.extend(task);
        }
        self.close_accounts(gone, snapshot.complete);
        let mut leader_names = std::mem::take(&mut snapshot.leader_names);
        leader_names.retain(|(tgid, _)| self.processes.contains_key(tgid));
        self.leader_names.extend(leader_names);
        self.groups.add(std::mem::take(&mut snapshot.groups), || {
            self.tasks.values().filter_map(|known| known.sample.ident.cgroup_id).collect()
        });
        let exited = self.post_exits(exits, &mut backwards);
        self.backwards += backwards;
        snapshot.errors.add(ErrorKind::Backwards, self.backwards);
        self.interrupts =
            self.last.as_ref().is_some_and(|last| interrupts_are_measured(last, &snapshot));
        let window = self.last.as_ref().map(|last| difference(last, &snapshot, tasks, exited));
        let window = window.map(|window| Window { blame, ..window });
        self.last = Some(snapshot);
        window
    }

    /// Enters one sample. Returns its delta in the window that ends now, and the number of counters
    /// that ran backwards.
    fn post(
        &mut self,
        sample: TaskSample,
        t0_ns: Option<u64>,
        t1_ns: u64,
    ) -> (Option<TaskDelta>, u64) {
        let known = LastSample { sample, as_of_ns: t1_ns, round: self.round };
        let before = match self.tasks.entry(sample.account) {
            Entry::Occupied(mut place) => Some(std::mem::replace(&mut **place.get_mut(), known)),
            Entry::Vacant(place) => {
                place.insert(Box::new(known));
                None
            }
        };
        match waits(sample.state) {
            true => self.waiting.insert(sample.account),
            false => self.waiting.remove(&sample.account),
        };
        self.recount(before.map(|k| k.sample), Some(sample));
        let Some(t0_ns) = t0_ns else { return (None, 0) };
        let (delta, backwards) = match before {
            Some(before) => sample.counters.since(&before.counters_at(t0_ns)),
            None if sample.since_ns >= t0_ns => (sample.counters, 0),
            // The task lived before the window but is new to the book: its part of the window is
            // unknown.
            None => (Counters::unknown(), 0),
        };
        let audit = match before {
            Some(before) => Some(sample.audit.since(&before.sample.audit)),
            None => (sample.since_ns >= t0_ns).then_some(sample.audit),
        };
        let life_ns = life_in(&sample, t0_ns, t1_ns);
        (Some(TaskDelta { sample, life_ns, delta, audit }), backwards)
    }

    /// The accounts that end with this snapshot.
    pub fn ending(&self, next: &Snapshot) -> Vec<AccountId> {
        if !next.complete {
            return next.gone.clone();
        }
        let listed: FxHashSet<AccountId> = next.tasks.iter().map(|t| t.account).collect();
        self.tasks.keys().filter(|account| !listed.contains(account)).copied().collect()
    }

    fn close_accounts(&mut self, gone: Vec<AccountId>, complete: bool) {
        let mut gone = gone;
        if complete {
            let round = self.round;
            gone = self.tasks.iter().filter(|(_, k)| k.round != round).map(|(&a, _)| a).collect();
        }
        for account in gone {
            self.waiting.remove(&account);
            if let Some(known) = self.tasks.remove(&account) {
                self.recount(Some(known.sample), None);
            }
        }
    }

    /// Updates the census and the list of processes when a task comes, changes or goes.
    fn recount(&mut self, before: Option<TaskSample>, after: Option<TaskSample>) {
        for (sample, by) in [(before, -1), (after, 1)] {
            let Some(sample) = sample else { continue };
            self.all.count(sample.letter, by);
        }
        let has_moved = before.map(|s| s.key) != after.map(|s| s.key);
        if !has_moved && before.map(|s| s.letter) == after.map(|s| s.letter) {
            return;
        }
        if let Some(before) = before {
            self.recount_process(&before, -1);
            if has_moved {
                self.leave_process(&before);
            }
        }
        if let Some(after) = after {
            if has_moved {
                let entry = self.processes.entry(after.key.tgid).or_default();
                entry.tasks.push(after.account);
                if after.key.is_leader() {
                    entry.leader = Some(after.account);
                }
            }
            self.recount_process(&after, 1);
        }
    }

    /// Counts a process under the letter of its row.
    fn recount_process(&mut self, sample: &TaskSample, by: i32) {
        let Some(entry) = self.processes.get_mut(&sample.key.tgid) else { return };
        let before = entry.letter();
        entry.count(sample, by);
        let after = entry.letter();
        if before != after {
            before.into_iter().for_each(|letter| self.by_process.count(letter, -1));
            after.into_iter().for_each(|letter| self.by_process.count(letter, 1));
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
            self.leader_names.remove(&sample.key.tgid);
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
            let life_ns = less(sample.life_ns, |b| b.life_ns);
            let processes = less(sample.processes, |b| b.processes);
            // A group may have time without an exit: `merged` counts such exits elsewhere. If the
            // kernel hid a process's exit, the process counts when the kernel frees it, after its
            // tasks.
            if (tasks > 0 || processes > 0 || life_ns > 0) && !first {
                let audit = before.map_or(sample.audit, |b| sample.audit.since(&b.audit));
                deltas.push(ExitDelta { sample, processes, tasks, life_ns, delta, audit });
            }
            now.insert(sample.account, sample);
        }
        self.exits = now;
        deltas
    }

    /// Instant of the last snapshot, ns.
    pub fn at_ns(&self) -> Option<u64> {
        self.last.as_ref().map(|s| s.at_ns)
    }

    /// Tasks by state.
    pub fn census(&self) -> Census {
        self.all
    }

    /// Processes by the letter of their rows: the leader's state, or R if another thread runs.
    pub fn process_census(&self) -> Census {
        self.by_process
    }

    /// Path and owner of a control group, if a source gave them.
    pub fn group(&self, id: u64) -> Option<&Arc<GroupName>> {
        self.groups.get(id)
    }

    /// The container, pod or unit that a control group belongs to, if known.
    pub fn named(&self, cgroup_id: Option<u64>) -> Option<Arc<Named>> {
        self.group(cgroup_id?).map(|group| Arc::clone(&group.named))
    }

    /// The tasks of a process.
    pub fn process(&self, tgid: u32) -> Option<&ProcessEntry> {
        self.processes.get(&tgid)
    }

    /// All processes, by tgid.
    pub fn processes(&self) -> impl Iterator<Item = (u32, &ProcessEntry)> {
        self.processes.iter().map(|(&tgid, entry)| (tgid, entry))
    }

    /// The last sample of a task; its counters are as of its last event.
    pub fn task(&self, account: AccountId) -> Option<&TaskSample> {
        self.tasks.get(&account).map(|k| &k.sample)
    }

    /// What represents the task's process: its leader. If the leader was never seen, it is the task
    /// with the lowest account, under the process's name if a source gave it.
    pub fn leader(&self, task: &TaskSample) -> Leader {
        let TaskSample { account, key, ident, .. } = *task;
        let of_no_process = || Leader { account, key, ident };
        self.leader_of(task.key.tgid).unwrap_or_else(of_no_process)
    }

    /// What represents a process ([`Book::leader`]); `None`: no such process.
    pub fn leader_of(&self, tgid: u32) -> Option<Leader> {
        let entry = self.process(tgid)?;
        let TaskSample { account, key, ident, .. } = *self.task(entry.head()?)?;
        let name = self.leader_names.get(&tgid).filter(|_| entry.leader.is_none());
        let comm = name.copied().unwrap_or(ident.comm);
        Some(Leader { account, key, ident: Ident { comm, ..ident } })
    }

    /// The leader of a process, if this process still lives and its leader was seen.
    pub fn living(&self, process: ProcessRef) -> Option<&TaskSample> {
        let entry = self.process(process.tgid).filter(|_| process.tgid != 0)?;
        self.task(entry.leader?).filter(|leader| leader.key.start_ns == process.start_ns)
    }

    /// Tasks that waited for a CPU or a quota throughout a window. They had no event, so they are
    /// not among the window's tasks.
    pub fn waited_throughout(&self, window: &Window) -> Vec<TaskDelta> {
        if self.waiting.is_empty() {
            return Vec::new();
        }
        let told: FxHashSet<_> = window.tasks.iter().map(|task| task.sample.account).collect();
        let still = self.waiting.iter().filter(|account| !told.contains(account));
        still.filter_map(|&account| self.still_in(account, window)).collect()
    }

    /// Tasks without an event in a window whose state is not plain sleep, process by process. Each
    /// kept its state throughout the window. A running task always has an event.
    pub fn stood<'a>(&'a self, window: &'a Window) -> impl Iterator<Item = TaskDelta> + 'a {
        let told: FxHashSet<_> = window.tasks.iter().map(|task| task.sample.account).collect();
        let waits = move |account: &AccountId| {
            let task = self.task(*account).filter(|_| !told.contains(account))?;
            match task.state {
                MicroState::Run | MicroState::Sleep | MicroState::Unknown | MicroState::Zombie => {
                    None
                }
                _ => self.still_in(*account, window),
            }
        };
        self.processes.values().flat_map(|process| &process.tasks).filter_map(waits)
    }

    /// The sample of a task with its counters at `at_ns`, at or after its last event.
    pub(crate) fn as_of(&self, account: AccountId, at_ns: u64) -> Option<TaskSample> {
        let known = self.tasks.get(&account)?;
        Some(TaskSample { counters: known.counters_at(at_ns), ..known.sample })
    }

    /// All tasks as of the last snapshot, process by process.
    pub fn tasks(&self) -> impl Iterator<Item = TaskSample> + '_ {
        let accounts = self.processes.values().flat_map(|process| &process.tasks);
        let at_ns = self.at_ns();
        accounts.filter_map(move |&account| self.as_of(account, at_ns?))
    }

    /// The last snapshot with all tasks as of its instant, process by process. A book that starts
    /// with it continues exactly like this one.
    pub fn whole(&self) -> Option<Snapshot> {
        let mut whole = self.last.clone()?;
        whole.tasks = self.tasks().collect();
        whole.exited = self.exits.values().copied().collect();
        whole.groups = self.groups.all();
        whole.leader_names = self.leader_names.iter().map(|(&tgid, &comm)| (tgid, comm)).collect();
        whole.leader_names.sort_unstable();
        whole.complete = true;
        // A book adds its own count on top of the source's.
        let backwards = &mut whole.errors.0[ErrorKind::Backwards as usize];
        *backwards = backwards.saturating_sub(self.backwards);
        Some(whole)
    }

    /// The delta of a task without an event in the window that ends at the last snapshot: it spent
    /// the window in one state.
    pub fn still(&self, account: AccountId, t0_ns: u64) -> Option<TaskDelta> {
        let known = self.tasks.get(&account)?;
        let t1_ns = self.at_ns()?;
        let life_ns = life_in(&known.sample, t0_ns, t1_ns);
        let mut sample = known.sample;
        sample.counters = known.counters_at(t1_ns);
        let (mut delta, _) = sample.counters.since(&known.counters_at(t0_ns.max(known.as_of_ns)));
        // Each snapshot holds every running task. If one is missing, no account has its time.
        if sample.state == MicroState::Run {
            delta.forget(Counter::RunNs);
        }
        if !self.interrupts {
            delta.fold(Counter::IrqNs, Counter::RunNs);
        }
        Some(TaskDelta { sample, life_ns, delta, audit: Some(TaskAudit::default()) })
    }

    /// The same for a window that may be the sum of several: if one of them did not measure
    /// interrupts, the sum did not.
    pub fn still_in(&self, account: AccountId, window: &Window) -> Option<TaskDelta> {
        let mut task = self.still(account, window.t0_ns)?;
        if !window.measures_interrupts() {
            task.delta.fold(Counter::IrqNs, Counter::RunNs);
        }
        Some(task)
    }
}

/// True for a state in which the task could run but has no CPU.
const fn waits(state: MicroState) -> bool {
    matches!(state, MicroState::Lat | MicroState::LatPreempt | MicroState::Throttle)
}

/// The part of a task's life inside a window, ns. A zombie has 0.
pub(crate) fn life_in(sample: &TaskSample, t0_ns: u64, t1_ns: u64) -> u64 {
    match sample.state {
        MicroState::Zombie => 0,
        _ => t1_ns.saturating_sub(sample.since_ns.max(t0_ns)),
    }
}
