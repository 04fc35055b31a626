//! Merges consecutive snapshots into one, for a reader that looks less often than they are taken.
//!
//! Figures are cumulative, so the last snapshot has nearly all. It lacks tasks with events only in
//! earlier snapshots, exited groups that the source freed, and the earlier use of exited tasks. An
//! exited group has only the use in the window of the exit. A book that takes what [`Merged::take`]
//! returns has the windows that [`Joined`](crate::ledger::joined::Joined) would make.

use crate::blame::Blame;
use crate::ledger::book::{life_in, Book};
use crate::ledger::counters::Counters;
use crate::ledger::joined::ended;
use crate::ledger::key::{AccountId, Comm};
use crate::ledger::named::GroupName;
use crate::ledger::provenance::{Degraded, Provenance, Quality};
use crate::ledger::snapshot::{ExitSample, GroupMove, Snapshot, TaskSample};
use crate::ledger::window::TaskDelta;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Flag in the account of an ended task's earlier use; no source's exited group has it.
const ENDED: u64 = 1 << 61;

/// Changes since the last [`Merged::take`].
#[derive(Debug, Default)]
pub struct Merged {
    book: Book,
    /// Instant of the last take, ns.
    taken_ns: Option<u64>,
    /// Samples at the last take, of tasks with an event since.
    then: FxHashMap<AccountId, TaskSample>,
    changed: FxHashSet<AccountId>,
    gone: Vec<AccountId>,
    exited: FxHashMap<AccountId, ExitSample>,
    ended: Vec<ExitSample>,
    /// Moves between groups, cumulative here: the source may forget a pair and begin it again at 0.
    /// The flag is true if the pair grew since the last take.
    moves: FxHashMap<(u64, u64), (GroupMove, bool)>,
    /// Groups that were named since the last take.
    groups: Vec<Arc<GroupName>>,
    /// Names of processes that were given since the last take.
    leader_names: Vec<(u32, Comm)>,
    /// Lowest quality of interrupt time since the last take.
    irq: Option<Quality>,
    /// Detail that is missing in a snapshot since the last take; the outer `None`: no snapshot since.
    degraded: Option<Option<Degraded>>,
    /// What was booked in the blame book since the last take.
    blame: Option<Blame>,
    last: Option<Snapshot>,
}

impl Merged {
    /// No snapshot yet.
    pub fn new() -> Merged {
        Merged::default()
    }

    /// Instant of the last snapshot, ns.
    pub fn at_ns(&self) -> Option<u64> {
        self.book.at_ns()
    }

    /// Source and quality of the last snapshot.
    pub fn provenance(&self) -> Option<&Provenance> {
        self.last.as_ref().map(|last| &last.provenance)
    }

    /// Adds the next snapshot; the first one must be complete.
    pub fn add(&mut self, mut snapshot: Snapshot) {
        if let Some(booked) = snapshot.blame.take() {
            self.blame.get_or_insert_default().add(&booked);
        }
        self.look_before(&snapshot);
        self.changed.extend(snapshot.tasks.iter().map(|task| task.account));
        self.gone.extend(self.book.ending(&snapshot));
        self.exited.extend(snapshot.exited.iter().map(|exit| (exit.account, *exit)));
        self.groups.extend(snapshot.groups.iter().cloned());
        self.leader_names.extend(&snapshot.leader_names);
        let irq = snapshot.provenance.irq;
        if self.irq.is_none() || irq == Quality::Missing {
            self.irq = Some(irq);
        }
        let degraded = snapshot.provenance.degraded;
        self.degraded = Some(match self.degraded {
            Some(before) => Degraded::in_either(before, degraded),
            None => degraded,
        });
        let rest = Snapshot { tasks: Vec::new(), exited: Vec::new(), ..snapshot.clone() };
        if let Some(window) = self.book.advance(snapshot) {
            for moved in &window.moves {
                self.count_move(moved);
            }
        }
        self.last = Some(rest);
    }

    /// Saves the figures so far of tasks with their first event and of tasks that end. The book has
    /// them for the last time now.
    fn look_before(&mut self, snapshot: &Snapshot) {
        let (Some(at_ns), Some(taken_ns)) = (self.book.at_ns(), self.taken_ns) else { return };
        let ending = self.book.ending(snapshot);
        let changing = snapshot.tasks.iter().map(|task| task.account);
        for account in changing.chain(ending.iter().copied()) {
            if !self.changed.contains(&account) && !self.then.contains_key(&account) {
                let then = self.book.as_of(account, taken_ns);
                self.then.extend(then.map(|then| (account, then)));
            }
        }
        if at_ns == taken_ns {
            return;
        }
        for TaskSample { account, ident, .. } in &snapshot.tasks {
            let then = self.book.task(*account).map(|task| task.ident.cgroup_id);
            if then.is_some_and(|then| then != ident.cgroup_id) {
                let so_far = self.so_far(*account, taken_ns, at_ns);
                let moved = so_far.and_then(|task| task.moved_to(ident.cgroup_id));
                moved.iter().for_each(|moved| self.count_move(moved));
            }
        }
        for account in ending {
            // A zombie has used nothing since its last sample.
            let so_far = self.so_far(account, taken_ns, at_ns).filter(|task| task.life_ns > 0);
            self.ended.extend(so_far.map(|task| {
                let exit = ended(&task, &self.book);
                let account = AccountId(account.0 | ENDED);
                ExitSample { account, life_ns: exit.life_ns, ..exit.sample }
            }));
        }
    }

    /// What a task used since the last take.
    fn so_far(&self, account: AccountId, taken_ns: u64, at_ns: u64) -> Option<TaskDelta> {
        let sample = self.book.as_of(account, at_ns)?;
        let (delta, audit) = match self.then.get(&account) {
            Some(then) => {
                let (delta, _) = sample.counters.since(&then.counters);
                (delta, Some(sample.audit.since(&then.audit)))
            }
            None if sample.since_ns >= taken_ns => (sample.counters, Some(sample.audit)),
            None => (Counters::unknown(), None),
        };
        Some(TaskDelta { sample, life_ns: life_in(&sample, taken_ns, at_ns), delta, audit })
    }

    fn count_move(&mut self, moved: &GroupMove) {
        let nothing = GroupMove { used: Counters::unknown(), ..*moved };
        let (sum, is_new) = self.moves.entry((moved.from, moved.to)).or_insert((nothing, true));
        *is_new = true;
        sum.add(&moved.used);
    }

    /// All changes since the call before as one snapshot; the first one is complete. `None` if no
    /// snapshot was added.
    pub fn take(&mut self) -> Option<Snapshot> {
        // No new snapshot: the same instant again would end all exited groups in the reader's book.
        if self.taken_ns.is_some() && self.taken_ns == self.book.at_ns() {
            return None;
        }
        let mut now = self.last.clone()?;
        let first = self.taken_ns.replace(now.at_ns).is_none();
        let changed = std::mem::take(&mut self.changed);
        now.complete = first;
        now.tasks = match first {
            true => self.book.whole()?.tasks,
            false => changed.iter().filter_map(|&a| self.book.as_of(a, now.at_ns)).collect(),
        };
        now.tasks.sort_unstable_by_key(|task| task.account.0);
        now.groups = std::mem::take(&mut self.groups);
        now.leader_names = std::mem::take(&mut self.leader_names);
        now.gone = std::mem::take(&mut self.gone);
        let mut exited: Vec<_> = std::mem::take(&mut self.exited).into_values().collect();
        exited.append(&mut self.ended);
        exited.sort_unstable_by_key(|exit| exit.account.0);
        now.exited = exited;
        // Shrink to twice the size that was needed, so that memory of a storm is given back.
        let most = 2 * self.then.len();
        self.then.clear();
        self.then.shrink_to(most);
        if let Some(irq) = self.irq.take() {
            now.irq_again = irq == Quality::Missing && now.measures_interrupts();
            now.provenance.irq = irq;
        }
        if let Some(degraded) = self.degraded.take() {
            now.provenance.degraded = degraded;
        }
        now.blame = self.blame.take();
        // A pair that the source has forgotten goes after a take without growth; then it begins
        // again.
        let kept: FxHashSet<_> = now.moves.iter().map(|moved| (moved.from, moved.to)).collect();
        self.moves.retain(|pair, (_, is_new)| std::mem::take(is_new) || kept.contains(pair));
        now.moves = self.moves.values().map(|(moved, _)| *moved).collect();
        now.moves.sort_unstable_by_key(|moved| (moved.from, moved.to));
        Some(now)
    }
}
