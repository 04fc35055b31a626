//! Pools the threads of a process other than its main thread.

use super::{Accounts, THREADS};
use crate::ledger::audit::TaskAudit;
use crate::ledger::book::Book;
use crate::ledger::counters::{Counter, Counters};
use crate::ledger::key::{AccountId, Ident, TaskKey};
use crate::ledger::snapshot::{MicroState, Snapshot, TaskSample};
use rustc_hash::{FxHashMap, FxHashSet};

/// Key of a pool: process, control group, user and followed tree.
type Key = (u32, Option<u64>, u32, u32);

/// States that the books of the CPUs contain.
const OF_BOOKS: [Counter; 3] = [Counter::RunNs, Counter::IrqNs, Counter::StealNs];

/// A thread in a pool.
#[derive(Debug)]
struct Member {
    /// Its last sample from the source.
    sample: TaskSample,
    /// Instant of that sample, ns.
    as_of_ns: u64,
}

/// A thread that was pooled and has a row of its own again.
#[derive(Debug)]
struct SeparateThread {
    account: AccountId,
    since_ns: u64,
    /// Its counters when the pool ended.
    counters: Counters,
    audit: TaskAudit,
}

#[derive(Debug)]
struct Pool {
    /// The pool's row.
    sample: TaskSample,
    threads: u32,
    running: u32,
    is_changed: bool,
}

#[derive(Debug, Default)]
pub(super) struct Threads {
    is_on: bool,
    members: FxHashMap<AccountId, Member>,
    pools: FxHashMap<Key, Pool>,
    apart: FxHashMap<AccountId, SeparateThread>,
}

impl Threads {
    /// Pools one snapshot. `before` is the reader's book as of `t0_ns`, the start of the snapshot's
    /// window.
    pub fn take(
        &mut self,
        snapshot: &mut Snapshot,
        on: bool,
        (before, t0_ns): (&Book, u64),
        accounts: &mut Accounts,
    ) {
        let was_on = std::mem::replace(&mut self.is_on, on);
        if !on && !was_on && self.apart.is_empty() {
            return;
        }
        self.end(&mut snapshot.gone);
        if on && !was_on {
            self.begin(&mut snapshot.gone, (before, t0_ns), accounts);
        }
        if was_on && !on {
            self.part_all(snapshot, t0_ns, accounts);
        }
        let at_ns = snapshot.at_ns;
        let tasks = std::mem::take(&mut snapshot.tasks).into_iter();
        snapshot.tasks =
            tasks.filter_map(|task| self.tell(task, (t0_ns, at_ns), accounts)).collect();
        // A pool without threads ends; the reader keeps its past figures.
        let empty = self.pools.extract_if(|_, pool| pool.threads == 0).map(|(_, pool)| pool);
        snapshot
            .gone
            .extend(empty.filter(|pool| pool.is_told(t0_ns)).map(|pool| pool.sample.account));
        let changed = self.pools.values_mut().filter_map(Pool::news);
        snapshot.tasks.extend(changed);
    }

    /// Replaces ended accounts by those that the reader knows. A member of a pool has none.
    fn end(&mut self, gone: &mut Vec<AccountId>) {
        let told = std::mem::take(gone).into_iter();
        *gone = told
            .filter_map(|account| {
                if let Some(member) = self.members.remove(&account) {
                    self.leave(&member.sample);
                    return None;
                }
                Some(self.apart.remove(&account).map_or(account, |apart| apart.account))
            })
            .collect();
    }

    /// Puts living threads into pools; their own accounts end.
    fn begin(
        &mut self,
        gone: &mut Vec<AccountId>,
        (before, t0_ns): (&Book, u64),
        accounts: &mut Accounts,
    ) {
        let raw = std::mem::take(&mut self.apart).into_iter();
        let mut raw: FxHashMap<_, _> =
            raw.map(|(of, apart)| (apart.account, (of, apart))).collect();
        let ended: FxHashSet<AccountId> = gone.iter().copied().collect();
        let all = before.processes().flat_map(|(_, process)| &process.tasks);
        let all = all.filter(|account| !ended.contains(account));
        let all = all.filter_map(|&account| before.as_of(account, t0_ns));
        for told in all.filter(is_pooled) {
            let mut sample = told;
            if let Some((account, apart)) = raw.remove(&told.account) {
                sample.account = account;
                sample.counters.add(&apart.counters);
                sample.audit = apart.audit.and(&told.audit);
            }
            gone.push(told.account);
            self.join(&sample, t0_ns, accounts);
            self.members.insert(sample.account, Member { sample, as_of_ns: t0_ns });
        }
        // What is left are threads that have become leaders.
        self.apart = raw.into_values().collect();
    }

    /// Gives all members accounts of their own, which begin now. Members without an event are added
    /// to the snapshot too, because the reader's book does not have them.
    fn part_all(&mut self, snapshot: &mut Snapshot, t0_ns: u64, accounts: &mut Accounts) {
        let told: FxHashSet<AccountId> = snapshot.tasks.iter().map(|task| task.account).collect();
        for (account, member) in std::mem::take(&mut self.members) {
            self.part(&member, t0_ns, accounts);
            if !told.contains(&account) {
                let counters = member.sample.counters_after(snapshot.at_ns - member.as_of_ns);
                snapshot.tasks.push(TaskSample { counters, ..member.sample });
            }
        }
        let pools = std::mem::take(&mut self.pools).into_values();
        snapshot
            .gone
            .extend(pools.filter(|pool| pool.is_told(t0_ns)).map(|pool| pool.sample.account));
    }

    fn part(&mut self, member: &Member, t0_ns: u64, accounts: &mut Accounts) {
        let counters = member.sample.counters_after(t0_ns.saturating_sub(member.as_of_ns));
        let (account, audit) = (accounts.next(), member.sample.audit);
        let apart = SeparateThread { account, since_ns: t0_ns, counters, audit };
        self.apart.insert(member.sample.account, apart);
    }

    /// The sample as the reader gets it; `None` if it became a part of a pool.
    fn tell(
        &mut self,
        task: TaskSample,
        (t0_ns, at_ns): (u64, u64),
        accounts: &mut Accounts,
    ) -> Option<TaskSample> {
        let known = self.members.remove(&task.account);
        if let Some(known) = &known {
            self.leave(&known.sample);
        }
        // A thread that became a leader by an exec has a row of its own.
        if !self.is_on || !is_pooled(&task) || self.apart.contains_key(&task.account) {
            if let Some(known) = &known {
                self.part(known, t0_ns, accounts);
            }
            return Some(self.apart.get(&task.account).map_or(task, |apart| apart.rebased(task)));
        }
        let (delta, audit) = match &known {
            Some(known) => {
                let delta = task.counters.since(&known.sample.counters).0;
                (delta, task.audit.since(&known.sample.audit))
            }
            None if task.since_ns >= t0_ns => (task.counters, task.audit),
            // Its part of this window is unknown, as in a book.
            None => (Counters::unknown(), TaskAudit::default()),
        };
        self.join(&task, t0_ns, accounts).add(&delta, &audit);
        self.members.insert(task.account, Member { sample: task, as_of_ns: at_ns });
        None
    }

    fn join(&mut self, task: &TaskSample, t0_ns: u64, accounts: &mut Accounts) -> &mut Pool {
        let pool =
            self.pools.entry(key(task)).or_insert_with(|| Pool::empty(task, t0_ns, accounts));
        pool.count(task, 1);
        pool
    }

    fn leave(&mut self, task: &TaskSample) {
        if let Some(pool) = self.pools.get_mut(&key(task)) {
            pool.count(task, -1);
        }
    }
}

impl SeparateThread {
    fn rebased(&self, task: TaskSample) -> TaskSample {
        TaskSample {
            account: self.account,
            since_ns: self.since_ns,
            counters: task.counters.since(&self.counters).0,
            audit: task.audit.since(&self.audit),
            ..task
        }
    }
}

impl Pool {
    /// An empty pool without a state, so only added figures change it. Its tid is 0, because it is
    /// no thread.
    fn empty(first: &TaskSample, t0_ns: u64, accounts: &mut Accounts) -> Pool {
        let sample = TaskSample {
            account: accounts.next(),
            key: TaskKey { tid: 0, ..first.key },
            ident: Ident { comm: THREADS, ..first.ident },
            state: MicroState::Unknown,
            since_ns: t0_ns,
            last_cpu: None,
            counters: Counters::zero(),
            audit: TaskAudit::default(),
            ..*first
        };
        Pool { sample, threads: 0, running: 0, is_changed: true }
    }

    /// True if the reader has the pool: it was made before the window that begins at `t0_ns`.
    fn is_told(&self, t0_ns: u64) -> bool {
        self.sample.since_ns < t0_ns
    }

    fn count(&mut self, task: &TaskSample, by: i32) {
        self.threads = self.threads.wrapping_add_signed(by);
        if task.letter == 'R' {
            self.running = self.running.wrapping_add_signed(by);
        }
        self.is_changed = true;
    }

    fn add(&mut self, delta: &Counters, audit: &TaskAudit) {
        let sum = &mut self.sample.counters;
        match delta.get(Counter::RunNs) {
            Some(_) => sum.add(delta),
            // The thread's figures in this window are unknown; the books have its time as unnamed.
            None => Counter::ALL
                .iter()
                .filter(|of| !OF_BOOKS.contains(of))
                .for_each(|&of| sum.forget(of)),
        }
        self.sample.audit = self.sample.audit.and(audit);
    }

    /// The pool's sample, if it changed since the last call.
    fn news(&mut self) -> Option<TaskSample> {
        std::mem::take(&mut self.is_changed).then(|| self.to_sample())
    }

    /// The pool's sample. Waits are unknown, because they grow without events.
    fn to_sample(&self) -> TaskSample {
        let mut counters = self.sample.counters;
        let waits = Counter::STATES.iter().chain(&[Counter::LatPreemptNs]);
        waits.filter(|of| !OF_BOOKS.contains(of)).for_each(|&of| counters.forget(of));
        let letter = if self.running > 0 { 'R' } else { 'S' };
        TaskSample { letter, threads: Some(self.threads), counters, ..self.sample }
    }
}

/// True for threads other than the main thread whose figures are known.
fn is_pooled(task: &TaskSample) -> bool {
    let has_ended = task.state == MicroState::Zombie;
    !task.key.is_leader() && !has_ended && task.counters.get(Counter::RunNs).is_some()
}

fn key(task: &TaskSample) -> Key {
    (task.key.tgid, task.ident.cgroup_id, task.ident.uid, task.tree)
}
