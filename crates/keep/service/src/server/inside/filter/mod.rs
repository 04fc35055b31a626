//! What somebody is told who may know of some tasks only: pure. Those have the numbers, parents and
//! accounts of their own; what all others used is one sum, so that the books close as everyone's do.
//!
//! Who is in stays in, and who is not stays out, whatever is learnt later: else a time would be told
//! twice or never. Of who exited it is known that they were in if an ancestor is known that was:
//! children are where their parent is.

use exactop_model::ledger::snapshot::{Outside, ProcessRef};
use exactop_model::ledger::system::System;
use exactop_model::{
    AccountId, Counter, Counters, CpuSample, ExitSample, Ident, Snapshot, TaskKey, TaskSample,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Who is in, and by which numbers of process and thread.
pub trait Numbers {
    /// Those of a task that lives; `None`: it is not in, or has ended.
    fn of(&self, key: &TaskKey) -> Option<(u32, u32)>;
}

/// A task as it was told last.
#[derive(Clone, Copy, Debug)]
struct Task {
    used: Outside,
    inside: Option<Inner>,
}

/// One who is in.
#[derive(Clone, Copy, Debug)]
struct Inner {
    account: AccountId,
    /// Here.
    outer: TaskKey,
    /// There.
    key: TaskKey,
}

/// A process that is in.
#[derive(Clone, Copy, Debug)]
struct Process {
    tgid: u32,
    /// Of its leader, if that is known.
    start_ns: Option<u64>,
    tasks: usize,
}

/// A group of those who exited as it was told last.
#[derive(Clone, Copy, Debug)]
struct Exit {
    used: Outside,
    inside: Option<Family>,
}

/// Whose children they were, by the numbers there.
#[derive(Clone, Copy, Debug)]
struct Family {
    account: AccountId,
    of: ProcessRef,
    ancestors: [ProcessRef; 8],
}

/// What was told so far.
#[derive(Debug, Default)]
pub struct Filter {
    /// When that was.
    at_ns: Option<u64>,
    tasks: FxHashMap<AccountId, Task>,
    /// By the numbers here.
    processes: FxHashMap<u32, Process>,
    /// Those that ended in this window, by who they were here, and their numbers there: another may have
    /// theirs by its end, and those who exited in it may be their children.
    ended: FxHashMap<ProcessRef, u32>,
    exits: FxHashMap<AccountId, Exit>,
    outside: Outside,
    /// Accounts that were given out: how many others there are does not show.
    accounts: u64,
}

impl Filter {
    /// What is told of a snapshot; the first is of everyone.
    pub fn told(&mut self, now: &Snapshot, numbers: &impl Numbers) -> Snapshot {
        let gone = self.gone(now);
        let mut tasks = Vec::new();
        for task in &now.tasks {
            match self.place(task, numbers) {
                Some(Inner { account, key, .. }) => {
                    tasks.push(TaskSample { account, key, ..*task })
                }
                None => continue,
            }
        }
        for task in &mut tasks {
            let ppid = self.processes.get(&task.ident.ppid).map_or(0, |parent| parent.tgid);
            task.ident = Ident { ppid, cgroup_id: None, ..task.ident };
            task.tree = 0;
        }
        let exited = self.exited(&now.exited);
        self.at_ns = Some(now.at_ns);
        Snapshot {
            at_ns: now.at_ns,
            provenance: now.provenance.clone(),
            complete: now.complete,
            tasks,
            gone: if now.complete { Vec::new() } else { gone },
            exited,
            // Groups are named as the host has them.
            moves: Vec::new(),
            groups: Vec::new(),
            cpus: now.cpus.iter().map(cpu).collect(),
            watch: None,
            born: None,
            errors: now.errors,
            repaired_ns: now.repaired_ns,
            repaired_wait_ns: now.repaired_wait_ns,
            system: System::default(),
            cost: now.cost,
            outside: Some(self.outside),
        }
    }

    /// Where a task is; what it used since it was told last is the others' if it is not in.
    fn place(&mut self, task: &TaskSample, numbers: &impl Numbers) -> Option<Inner> {
        let used = used(&task.counters);
        let known = self.tasks.get(&task.account).copied();
        let inside = match known {
            Some(Task { inside: None, .. }) => None,
            Some(Task { inside: Some(inner), .. }) if inner.outer == task.key => Some(inner),
            // It took its leader's number with an exec. If it is gone meanwhile, it keeps its own.
            Some(Task { inside: Some(inner), .. }) => Some(match at(task, numbers) {
                Some(key) => Inner { key, outer: task.key, ..inner },
                None => inner,
            }),
            None => self.enter(task, numbers),
        };
        if inside.is_none() {
            let lived_before = self.at_ns.is_none_or(|at_ns| task.since_ns < at_ns);
            let since = match known {
                Some(known) => used.since(&known.used),
                // What it did before anybody looked is not known, as of those who are in.
                None if lived_before => Outside::default(),
                None => used,
            };
            self.outside = self.outside.and(&since);
        }
        self.tasks.insert(task.account, Task { used, inside });
        if let Some(inner) = inside {
            self.join(&inner, known.is_none());
        }
        inside
    }

    /// One who is seen for the first time.
    fn enter(&mut self, task: &TaskSample, numbers: &impl Numbers) -> Option<Inner> {
        let key = at(task, numbers)?;
        Some(Inner { account: self.account(), outer: task.key, key })
    }

    fn join(&mut self, inner: &Inner, is_new: bool) {
        let new = Process { tgid: inner.key.tgid, start_ns: None, tasks: 0 };
        let process = self.processes.entry(inner.outer.tgid).or_insert(new);
        process.tasks += usize::from(is_new);
        if inner.outer.is_leader() {
            process.start_ns = Some(inner.outer.start_ns);
        }
    }

    fn account(&mut self) -> AccountId {
        self.accounts += 1;
        AccountId(self.accounts)
    }

    /// Groups of those who exited and were in.
    fn exited(&mut self, all: &[ExitSample]) -> Vec<ExitSample> {
        let mut now = FxHashMap::default();
        let mut told = Vec::new();
        for exit in all {
            let used = used(&exit.counters);
            let known = self.exits.get(&exit.account).copied();
            let inside = match known {
                Some(known) => known.inside,
                None => self.family(exit),
            };
            match inside {
                Some(Family { account, of, ancestors }) => {
                    told.push(ExitSample { account, of, ancestors, cgroup_id: None, ..*exit });
                }
                None => {
                    let is_first = self.at_ns.is_none();
                    let before = known.map(|known| known.used).or(is_first.then_some(used));
                    let since = used.since(&before.unwrap_or_default());
                    self.outside = self.outside.and(&since);
                }
            }
            now.insert(exit.account, Exit { used, inside });
        }
        self.exits = now;
        told.iter_mut().for_each(|exit| exit.tree = 0);
        told
    }

    /// Whose children they were; `None`: nobody's of whom it is known that they are in.
    fn family(&mut self, exit: &ExitSample) -> Option<Family> {
        let of = self.inside(&exit.of).unwrap_or_default();
        // Each in its place: a grandparent is nobody's parent.
        let ancestors = exit.ancestors.map(|above| self.inside(&above).unwrap_or_default());
        if of.tgid == 0 && ancestors.iter().all(|above| above.tgid == 0) {
            return None;
        }
        Some(Family { account: self.account(), of, ancestors })
    }

    /// A process by its number there; `None`: it is not known to be in.
    fn inside(&self, process: &ProcessRef) -> Option<ProcessRef> {
        let known = self.processes.get(&process.tgid).filter(|_| process.tgid != 0);
        let known = known.filter(|known| known.start_ns == Some(process.start_ns));
        let tgid = known.map(|known| known.tgid).or_else(|| self.ended.get(process).copied())?;
        Some(ProcessRef { tgid, start_ns: process.start_ns })
    }

    /// Those who ended and were in, by their accounts there: first of all, so that whoever has their
    /// number now is somebody else.
    fn gone(&mut self, now: &Snapshot) -> Vec<AccountId> {
        self.ended.clear();
        let ended: Vec<AccountId> = match now.complete {
            true => {
                let listed: FxHashSet<_> = now.tasks.iter().map(|task| task.account).collect();
                self.tasks.keys().filter(|account| !listed.contains(account)).copied().collect()
            }
            false => now.gone.clone(),
        };
        let ended = ended.iter().filter_map(|account| self.tasks.remove(account)?.inside);
        let ended: Vec<Inner> = ended.collect();
        for inner in &ended {
            let Some(process) = self.processes.get_mut(&inner.outer.tgid) else { continue };
            process.tasks -= 1;
            if process.tasks == 0 {
                let who = process.start_ns.map(|start_ns| (inner.outer.tgid, start_ns));
                let who = who.map(|(tgid, start_ns)| ProcessRef { tgid, start_ns });
                self.ended.extend(who.map(|who| (who, process.tgid)));
                self.processes.remove(&inner.outer.tgid);
            }
        }
        ended.iter().map(|inner| inner.account).collect()
    }
}

/// By which key a task is called there.
fn at(task: &TaskSample, numbers: &impl Numbers) -> Option<TaskKey> {
    // Those are nobody's but the kernel's.
    let (tgid, tid) = numbers.of(&task.key).filter(|_| !task.ident.kthread)?;
    Some(TaskKey { tgid, tid, start_ns: task.key.start_ns })
}

/// What the books count of somebody.
fn used(counters: &Counters) -> Outside {
    let of = |counter| counters.get(counter).unwrap_or(0);
    Outside {
        run_ns: of(Counter::RunNs),
        irq_ns: of(Counter::IrqNs),
        steal_ns: of(Counter::StealNs),
    }
}

/// A CPU without what is told of a single process, and without how many there were.
fn cpu(cpu: &CpuSample) -> CpuSample {
    CpuSample { no_name_processes: 0, watched_ns: None, watched_dispatches: None, ..*cpu }
}

#[cfg(test)]
mod tests;
