//! Pools exited processes.

use super::{Accounts, BRIEF};
use crate::ledger::counters::{Counter, Counters};
use crate::ledger::key::AccountId;
use crate::ledger::snapshot::{ExitSample, ProcessRef};
use rustc_hash::{FxHashMap, FxHashSet};

/// Key of a pool: control group, user and followed tree.
type Key = (Option<u64>, Option<u32>, u32);

/// A pool, and true if a process joined it with the last snapshot.
type Pool = (ExitSample, bool);

#[derive(Debug, Default)]
pub(super) struct Brief {
    is_on: bool,
    /// The source's exited groups as of the last snapshot, while they are pooled.
    groups: FxHashMap<AccountId, ExitSample>,
    pools: FxHashMap<Key, Pool>,
    /// Groups that were pooled and have rows of their own again: the new account, and the sample
    /// when the pool ended.
    apart: FxHashMap<AccountId, (AccountId, ExitSample)>,
}

impl Brief {
    pub fn take(&mut self, exits: &mut Vec<ExitSample>, on: bool, accounts: &mut Accounts) {
        match (self.is_on, on) {
            (true, true) => return self.pool(exits, accounts),
            (true, false) => {
                let groups = std::mem::take(&mut self.groups).into_iter();
                self.apart = groups.map(|(of, base)| (of, (accounts.next(), base))).collect();
                self.pools = FxHashMap::default();
            }
            (false, true) => {
                // This window keeps its groups; they are pooled from its end on.
                let pooled = exits.iter().filter(|exit| is_pooled(exit));
                self.groups = pooled.map(|exit| (exit.account, *exit)).collect();
                self.tell_apart(exits);
                self.apart = FxHashMap::default();
            }
            (false, false) => {}
        }
        self.is_on = on;
        if !self.apart.is_empty() {
            self.tell_apart(exits);
        }
    }

    /// Gives groups that were pooled rows of their own, without the part that their pool had.
    fn tell_apart(&mut self, exits: &mut Vec<ExitSample>) {
        let there: FxHashSet<AccountId> = exits.iter().map(|exit| exit.account).collect();
        self.apart.retain(|account, _| there.contains(account));
        for exit in exits.iter_mut() {
            if let Some((account, base)) = self.apart.get(&exit.account) {
                *exit = ExitSample { account: *account, ..since(exit, base) };
            }
        }
        exits.retain(|exit| exit.tasks > 0 || exit.life_ns > 0);
    }

    fn pool(&mut self, exits: &mut Vec<ExitSample>, accounts: &mut Accounts) {
        self.pools.values_mut().for_each(|(_, is_used)| *is_used = false);
        let mut now = FxHashMap::default();
        let mut told = Vec::new();
        for exit in exits.drain(..) {
            if !is_pooled(&exit) {
                told.push(exit);
                continue;
            }
            let new = self.groups.get(&exit.account).map_or(exit, |base| since(&exit, base));
            now.insert(exit.account, exit);
            self.add(new, accounts);
        }
        self.groups = now;
        // A book forgets a group that is missing in a snapshot, so a pool that begins again needs a
        // new account.
        self.pools.retain(|_, (_, is_used)| *is_used);
        told.extend(self.pools.values().map(|(pool, _)| *pool));
        *exits = told;
    }

    fn add(&mut self, new: ExitSample, accounts: &mut Accounts) {
        if new.tasks == 0 && new.life_ns == 0 {
            return;
        }
        let key = (new.cgroup_id, new.uid, new.tree);
        let (pool, is_used) =
            self.pools.entry(key).or_insert_with(|| (empty(&new, accounts), false));
        pool.processes += new.processes;
        pool.tasks += new.tasks;
        pool.life_ns += new.life_ns;
        pour(&mut pool.counters, &new.counters);
        let worst = [pool.audit.run.worst_ns, pool.audit.lat.worst_ns];
        pool.audit = pool.audit.and(&new.audit);
        if !std::mem::replace(is_used, true) {
            // The worst of this window alone.
            pool.audit.run.worst_ns = new.audit.run.worst_ns;
            pool.audit.lat.worst_ns = new.audit.lat.worst_ns;
        } else {
            pool.audit.run.worst_ns = worst[0].max(new.audit.run.worst_ns);
            pool.audit.lat.worst_ns = worst[1].max(new.audit.lat.worst_ns);
        }
    }
}

/// Exited threads of a living process are no exited processes and keep their row.
fn is_pooled(exit: &ExitSample) -> bool {
    exit.of.tgid == 0
}

/// An empty pool. Its processes have different parents, so it has none.
fn empty(first: &ExitSample, accounts: &mut Accounts) -> ExitSample {
    ExitSample {
        account: accounts.next(),
        of: ProcessRef::default(),
        ancestors: Default::default(),
        comm: BRIEF,
        // A user can start any number of sessions, so pools by session would have no bound.
        session: None,
        processes: 0,
        tasks: 0,
        life_ns: 0,
        counters: Counters::zero(),
        audit: Default::default(),
        ..*first
    }
}

/// Adds counters. A counter that is unknown in one part becomes unknown in the sum: the sum would
/// be too small.
pub(super) fn pour(sum: &mut Counters, new: &Counters) {
    for &counter in Counter::ALL {
        match sum.get(counter).zip(new.get(counter)) {
            Some((sum_so_far, value)) => sum.set(counter, sum_so_far.wrapping_add(value)),
            None => sum.forget(counter),
        }
    }
}

/// The increase since `base`.
fn since(exit: &ExitSample, base: &ExitSample) -> ExitSample {
    ExitSample {
        processes: exit.processes.saturating_sub(base.processes),
        tasks: exit.tasks.saturating_sub(base.tasks),
        life_ns: exit.life_ns.saturating_sub(base.life_ns),
        counters: exit.counters.since(&base.counters).0,
        audit: exit.audit.since(&base.audit),
        ..*exit
    }
}
