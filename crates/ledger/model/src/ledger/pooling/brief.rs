//! Processes that exited, pooled.

use super::{Accounts, BRIEF};
use crate::ledger::counters::{Counter, Counters};
use crate::ledger::key::AccountId;
use crate::ledger::snapshot::{ExitSample, ProcessRef};
use rustc_hash::{FxHashMap, FxHashSet};

/// What processes of one pool have in common: control group, user, followed tree.
type Key = (Option<u64>, Option<u32>, u32);

/// A pool, and whether a process came in with the last snapshot.
type Pool = (ExitSample, bool);

#[derive(Debug, Default)]
pub(super) struct Brief {
    is_on: bool,
    /// Groups of the source as of the last snapshot, while they are pooled.
    groups: FxHashMap<AccountId, ExitSample>,
    pools: FxHashMap<Key, Pool>,
    /// Groups that were pooled and are told apart again: their account, and how they stood then.
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
                // This window is told as those before it; from its end on they are pooled.
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

    /// Groups that were pooled are told without what was told of them as a part of a pool.
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
        // A book forgets groups that are not told, so one that begins again has another account.
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
            // Of this window, not of those before it.
            pool.audit.run.worst_ns = new.audit.run.worst_ns;
            pool.audit.lat.worst_ns = new.audit.lat.worst_ns;
        } else {
            pool.audit.run.worst_ns = worst[0].max(new.audit.run.worst_ns);
            pool.audit.lat.worst_ns = worst[1].max(new.audit.lat.worst_ns);
        }
    }
}

/// Threads of a process that lives are no processes that exited: they are told as they are.
fn is_pooled(exit: &ExitSample) -> bool {
    exit.of.tgid == 0
}

/// A pool without anybody. Its parents are many, so it has none.
fn empty(first: &ExitSample, accounts: &mut Accounts) -> ExitSample {
    ExitSample {
        account: accounts.next(),
        of: ProcessRef::default(),
        ancestors: Default::default(),
        comm: BRIEF,
        processes: 0,
        tasks: 0,
        life_ns: 0,
        counters: Counters::zero(),
        audit: Default::default(),
        ..*first
    }
}

/// Adds. What is not known of one is not known of the sum from then on: a sum without it would be too small.
pub(super) fn pour(sum: &mut Counters, new: &Counters) {
    for &counter in Counter::ALL {
        match sum.get(counter).zip(new.get(counter)) {
            Some((sum_so_far, value)) => sum.set(counter, sum_so_far.wrapping_add(value)),
            None => sum.forget(counter),
        }
    }
}

/// What came on top of `base`.
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
