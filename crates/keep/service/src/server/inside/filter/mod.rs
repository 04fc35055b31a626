//! Filters snapshots for readers in a PID namespace; pure. The tasks inside keep their namespace's
//! numbers, parents and accounts. All other tasks become one sum, so the books still balance.
//!
//! A task that is inside stays inside, and one outside stays outside, whatever is learnt later.
//! Otherwise some time would be counted twice or not at all. An exited task counts as inside if a
//! known ancestor was: children are in the namespace of their parent.

mod parties;

use exactop_model::blame::{Blame, Party};
use exactop_model::ledger::snapshot::{Outside, ProcessRef};
use exactop_model::ledger::system::System;
use exactop_model::{
    AccountId, Comm, Counter, Counters, CpuSample, ExitSample, Ident, Snapshot, TaskKey, TaskSample,
};
use parties::Parties;
use rustc_hash::{FxHashMap, FxHashSet};

/// Maps tasks to their numbers in the namespace.
pub trait Numbers {
    /// PID and TID of a living task in the namespace; `None` if it is outside or has ended.
    fn numbers(&self, key: &TaskKey) -> Option<(u32, u32)>;
}

/// A task as of the last snapshot.
#[derive(Clone, Copy, Debug)]
struct Task {
    used: Outside,
    party: Option<Party>,
    inside: Option<InnerTask>,
}

/// A task inside the namespace.
#[derive(Clone, Copy, Debug)]
struct InnerTask {
    account: AccountId,
    /// Key on the host.
    outer: TaskKey,
    /// Key in the namespace.
    key: TaskKey,
}

/// A process inside the namespace.
#[derive(Clone, Copy, Debug)]
struct Process {
    tgid: u32,
    /// Start of its leader, if known.
    start_ns: Option<u64>,
    tasks: usize,
}

/// A group of exited tasks as of the last snapshot.
#[derive(Clone, Copy, Debug)]
struct Exit {
    used: Outside,
    /// Number of exited tasks.
    tasks: u64,
    inside: Option<Family>,
}

/// Parent and ancestors of exited tasks, by their numbers in the namespace.
#[derive(Clone, Copy, Debug)]
struct Family {
    account: AccountId,
    of: ProcessRef,
    ancestors: [ProcessRef; 8],
    session: Option<u32>,
}

/// State of the filtered stream.
#[derive(Debug, Default)]
pub struct Filter {
    /// Instant of the last snapshot.
    at_ns: Option<u64>,
    tasks: FxHashMap<AccountId, Task>,
    /// Processes inside, by their PID on the host.
    processes: FxHashMap<u32, Process>,
    /// Processes that ended in this window, by identity on the host, with their PID in the
    /// namespace. Another process may get their PID within the window, and exited tasks may be
    /// their children.
    ended: FxHashMap<ProcessRef, u32>,
    /// PIDs in the namespace of the processes of `ended`, by their PIDs outside.
    ended_pids: FxHashMap<u32, u32>,
    exits: FxHashMap<AccountId, Exit>,
    parties: Parties,
    outside: Outside,
    /// Accounts given out. The namespace has its own numbers, so they do not reveal how many tasks
    /// are outside.
    accounts: u64,
}

impl Filter {
    /// Filters a snapshot; the first one holds all tasks.
    pub fn filtered(&mut self, now: &Snapshot, numbers: &impl Numbers) -> Snapshot {
        let gone = self.gone(now);
        let mut tasks = Vec::new();
        for task in &now.tasks {
            match self.place(task, numbers) {
                Some(InnerTask { account, key, .. }) => {
                    tasks.push(TaskSample { account, key, ..*task })
                }
                None => continue,
            }
        }
        for task in &mut tasks {
            let ppid = self.processes.get(&task.ident.ppid).map_or(0, |parent| parent.tgid);
            let session = self.session(task.ident.session);
            task.ident = Ident { ppid, session, cgroup_id: None, ..task.ident };
            task.tree = 0;
        }
        let exited = self.exited(&now.exited);
        let blame = now.blame.as_ref().map(|book| self.blame(book));
        self.parties.end_window();
        self.at_ns = Some(now.at_ns);
        Snapshot {
            at_ns: now.at_ns,
            provenance: now.provenance.clone(),
            irq_again: now.irq_again,
            complete: now.complete,
            tasks,
            gone: if now.complete { Vec::new() } else { gone },
            exited,
            // Moves and groups carry the host's names.
            moves: Vec::new(),
            groups: Vec::new(),
            leader_names: self.leader_names(now),
            cpus: now.cpus.iter().map(cpu).collect(),
            watch: None,
            born: None,
            errors: now.errors,
            repaired_ns: now.repaired_ns,
            repaired_wait_ns: now.repaired_wait_ns,
            system: System::default(),
            cost: now.cost,
            outside: Some(self.outside),
            blame,
        }
    }

    /// Decides if a task is inside; adds the new time of an outside task to the outside sum.
    fn place(&mut self, task: &TaskSample, numbers: &impl Numbers) -> Option<InnerTask> {
        let used = used(&task.counters);
        let known = self.tasks.get(&task.account).copied();
        let inside = match known {
            Some(Task { inside: None, .. }) => None,
            Some(Task { inside: Some(inner), .. }) if inner.outer == task.key => Some(inner),
            // The task took its leader's number with an exec. If it has ended meanwhile, it keeps
            // the old number.
            Some(Task { inside: Some(inner), .. }) => Some(match at(task, numbers) {
                Some(key) => InnerTask { key, outer: task.key, ..inner },
                None => inner,
            }),
            None => self.enter(task, numbers),
        };
        if inside.is_none() {
            let lived_before = self.at_ns.is_none_or(|at_ns| task.since_ns < at_ns);
            let since = match known {
                Some(known) => used.since(&known.used),
                // Time before the first snapshot is unknown, as it is for tasks inside.
                None if lived_before => Outside::default(),
                None => used,
            };
            self.outside = self.outside.and(&since);
        }
        let party = parties::of_task(task);
        self.parties.change(known.and_then(|known| known.party), party, inside.is_some());
        self.tasks.insert(task.account, Task { used, party, inside });
        if let Some(inner) = inside {
            self.join(&inner, known.is_none());
        }
        inside
    }

    /// A task that is seen for the first time.
    fn enter(&mut self, task: &TaskSample, numbers: &impl Numbers) -> Option<InnerTask> {
        let key = at(task, numbers)?;
        Some(InnerTask { account: self.account(), outer: task.key, key })
    }

    fn join(&mut self, inner: &InnerTask, is_new: bool) {
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

    /// Groups of exited tasks that were inside.
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
                Some(Family { account, of, ancestors, session }) => {
                    let family = ExitSample { account, of, ancestors, session, ..*exit };
                    told.push(ExitSample { cgroup_id: None, ..family });
                }
                None => {
                    let is_first = self.at_ns.is_none();
                    let before = known.map(|known| known.used).or(is_first.then_some(used));
                    let since = used.since(&before.unwrap_or_default());
                    self.outside = self.outside.and(&since);
                }
            }
            if known.is_none_or(|known| known.tasks != exit.tasks) {
                self.parties.exit(parties::of_exit(exit), inside.is_some());
            }
            now.insert(exit.account, Exit { used, tasks: exit.tasks, inside });
        }
        self.exits = now;
        told.iter_mut().for_each(|exit| exit.tree = 0);
        told
    }

    /// The inside ancestors of an exited group; `None` if no known ancestor is inside.
    fn family(&mut self, exit: &ExitSample) -> Option<Family> {
        let of = self.inside(&exit.of).unwrap_or_default();
        // Keep the positions: a grandparent must not become the parent.
        let ancestors = exit.ancestors.map(|above| self.inside(&above).unwrap_or_default());
        if of.tgid == 0 && ancestors.iter().all(|above| above.tgid == 0) {
            return None;
        }
        let session = self.session(exit.session);
        Some(Family { account: self.account(), of, ancestors, session })
    }

    /// Names of processes inside, by their numbers in the namespace.
    fn leader_names(&self, now: &Snapshot) -> Vec<(u32, Comm)> {
        let inside = |(tgid, name): &(u32, Comm)| Some((self.processes.get(tgid)?.tgid, *name));
        now.leader_names.iter().filter_map(inside).collect()
    }

    /// The book with the victims inside. All parties outside are one culprit.
    fn blame(&self, book: &Blame) -> Blame {
        let inside = |party: Party| {
            let session = self.session(Some(party.session)).unwrap_or_default();
            let seen = Party { cgroup_id: 0, session, ..party };
            self.parties.is_inside(&party).then_some(seen)
        };
        let mut seen = book.seen(inside);
        // Waits without a party are of all tasks.
        seen.waits.remove(&None);
        seen.pairs.retain(|(victim, _), _| victim.is_some());
        seen.sizes.remove(&None);
        seen
    }

    /// A session id as the namespace has it; `None` if the leader is not known to be inside.
    fn session(&self, id: Option<u32>) -> Option<u32> {
        let id = id?;
        let leader = self.processes.get(&id).map(|leader| leader.tgid);
        leader.or_else(|| self.ended_pids.get(&id).copied())
    }

    /// A process by its PID in the namespace; `None` if it is not known to be inside.
    fn inside(&self, process: &ProcessRef) -> Option<ProcessRef> {
        let known = self.processes.get(&process.tgid).filter(|_| process.tgid != 0);
        let known = known.filter(|known| known.start_ns == Some(process.start_ns));
        let tgid = known.map(|known| known.tgid).or_else(|| self.ended.get(process).copied())?;
        Some(ProcessRef { tgid, start_ns: process.start_ns })
    }

    /// Removes the ended tasks and returns the accounts of those inside. Runs first: afterwards
    /// another task may have their number.
    fn gone(&mut self, now: &Snapshot) -> Vec<AccountId> {
        self.ended.clear();
        self.ended_pids.clear();
        let ended: Vec<AccountId> = match now.complete {
            true => {
                let listed: FxHashSet<_> = now.tasks.iter().map(|task| task.account).collect();
                self.tasks.keys().filter(|account| !listed.contains(account)).copied().collect()
            }
            false => now.gone.clone(),
        };
        let ended: Vec<Task> =
            ended.iter().filter_map(|account| self.tasks.remove(account)).collect();
        for task in &ended {
            self.parties.change(task.party, None, task.inside.is_some());
        }
        let ended: Vec<InnerTask> = ended.iter().filter_map(|task| task.inside).collect();
        for inner in &ended {
            let Some(process) = self.processes.get_mut(&inner.outer.tgid) else { continue };
            process.tasks -= 1;
            if process.tasks == 0 {
                self.ended_pids.insert(inner.outer.tgid, process.tgid);
                let who = process.start_ns.map(|start_ns| (inner.outer.tgid, start_ns));
                let who = who.map(|(tgid, start_ns)| ProcessRef { tgid, start_ns });
                self.ended.extend(who.map(|who| (who, process.tgid)));
                self.processes.remove(&inner.outer.tgid);
            }
        }
        ended.iter().map(|inner| inner.account).collect()
    }
}

fn at(task: &TaskSample, numbers: &impl Numbers) -> Option<TaskKey> {
    // Kernel threads belong to the kernel, not to a namespace.
    let (tgid, tid) = numbers.numbers(&task.key).filter(|_| !task.ident.kthread)?;
    Some(TaskKey { tgid, tid, start_ns: task.key.start_ns })
}

/// The counters that enter the books.
fn used(counters: &Counters) -> Outside {
    let of = |counter| counters.get(counter).unwrap_or(0);
    Outside {
        run_ns: of(Counter::RunNs),
        irq_ns: of(Counter::IrqNs),
        steal_ns: of(Counter::StealNs),
    }
}

/// A CPU without figures of single processes and without their number.
fn cpu(cpu: &CpuSample) -> CpuSample {
    CpuSample { no_name_processes: 0, watched_ns: None, watched_dispatches: None, ..*cpu }
}

#[cfg(test)]
mod tests;
