//! Snapshots that follow each other, as one: what somebody sees who looks less often than they are
//! taken.
//!
//! The last of them has nearly all: figures are cumulative. What it has not is who did something
//! before the snapshot before, groups that were given back, and what those had used who ended
//! meanwhile: an exited group has only the part of their time that lies in the window they ended in.
//! So a book that takes what is [taken](Merged::take) has the windows that [`Joined`](crate::ledger::joined::Joined)
//! would have made.

use crate::ledger::book::{life_in, Book};
use crate::ledger::counters::Counters;
use crate::ledger::joined::ended;
use crate::ledger::key::AccountId;
use crate::ledger::named::GroupName;
use crate::ledger::provenance::{Provenance, Quality};
use crate::ledger::snapshot::{ExitSample, GroupMove, Snapshot, TaskSample};
use crate::ledger::window::TaskDelta;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// In the account of what a task had used who ended: sources number exited groups without it.
const ENDED: u64 = 1 << 61;

/// What came since it was looked at.
#[derive(Debug, Default)]
pub struct Merged {
    book: Book,
    /// When it was looked at last.
    taken_ns: Option<u64>,
    /// As they were then: those to whom something happened since.
    then: FxHashMap<AccountId, TaskSample>,
    changed: FxHashSet<AccountId>,
    gone: Vec<AccountId>,
    exited: FxHashMap<AccountId, ExitSample>,
    ended: Vec<ExitSample>,
    /// Cumulative by themselves: the source may begin anew with a pair that it had forgotten. With whether something
    /// came on top since it was looked at.
    moves: FxHashMap<(u64, u64), (GroupMove, bool)>,
    /// Those whose names were told since.
    groups: Vec<Arc<GroupName>>,
    /// Of all snapshots since.
    irq: Option<Quality>,
    last: Option<Snapshot>,
}

impl Merged {
    /// Nothing yet.
    pub fn new() -> Merged {
        Merged::default()
    }

    /// The instant of the last snapshot that was added.
    pub fn at_ns(&self) -> Option<u64> {
        self.book.at_ns()
    }

    /// Who measured the last one that was added, and how well.
    pub fn provenance(&self) -> Option<&Provenance> {
        self.last.as_ref().map(|last| &last.provenance)
    }

    /// Adds the next snapshot; the first tells of everyone.
    pub fn add(&mut self, snapshot: Snapshot) {
        self.look_before(&snapshot);
        self.changed.extend(snapshot.tasks.iter().map(|task| task.account));
        self.gone.extend(self.book.ending(&snapshot));
        self.exited.extend(snapshot.exited.iter().map(|exit| (exit.account, *exit)));
        self.groups.extend(snapshot.groups.iter().cloned());
        let irq = snapshot.provenance.irq;
        if self.irq.is_none() || irq == Quality::Missing {
            self.irq = Some(irq);
        }
        let rest = Snapshot { tasks: Vec::new(), exited: Vec::new(), ..snapshot.clone() };
        if let Some(window) = self.book.advance(snapshot) {
            for moved in &window.moves {
                self.count_move(moved);
            }
        }
        self.last = Some(rest);
    }

    /// Looks at those to whom something happens for the first time, and at those who end: what they
    /// did so far is known for the last time.
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
            // A zombie has done nothing since it was told.
            let so_far = self.so_far(account, taken_ns, at_ns).filter(|task| task.life_ns > 0);
            self.ended.extend(so_far.map(|task| {
                let exit = ended(&task, &self.book);
                let account = AccountId(account.0 | ENDED);
                ExitSample { account, life_ns: exit.life_ns, ..exit.sample }
            }));
        }
    }

    /// What a task did since it was looked at.
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
        let nothing = GroupMove { run_ns: 0, lat_ns: 0, throttle_ns: 0, ..*moved };
        let (sum, is_new) = self.moves.entry((moved.from, moved.to)).or_insert((nothing, true));
        *is_new = true;
        sum.run_ns += moved.run_ns;
        sum.lat_ns += moved.lat_ns;
        sum.throttle_ns += moved.throttle_ns;
    }

    /// Everything since the call before as one snapshot; the first is of everyone. `None`: nothing
    /// was added.
    pub fn take(&mut self) -> Option<Snapshot> {
        // Nothing came since: the same instant again would end everyone's exited groups.
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
        now.gone = std::mem::take(&mut self.gone);
        let mut exited: Vec<_> = std::mem::take(&mut self.exited).into_values().collect();
        exited.append(&mut self.ended);
        exited.sort_unstable_by_key(|exit| exit.account.0);
        now.exited = exited;
        // As large as it was needed: a storm's size is not kept.
        let most = 2 * self.then.len();
        self.then.clear();
        self.then.shrink_to(most);
        if let Some(irq) = self.irq.take() {
            now.provenance.irq = irq;
        }
        // A pair that the source does not tell goes once it is told with nothing on top: it begins anew then.
        let kept: FxHashSet<_> = now.moves.iter().map(|moved| (moved.from, moved.to)).collect();
        self.moves.retain(|pair, (_, is_new)| std::mem::take(is_new) || kept.contains(pair));
        now.moves = self.moves.values().map(|(moved, _)| *moved).collect();
        now.moves.sort_unstable_by_key(|moved| (moved.from, moved.to));
        Some(now)
    }
}
