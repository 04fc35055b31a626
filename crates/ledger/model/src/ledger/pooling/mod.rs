//! Reduces the rows of snapshots and keeps the sums, for a reader that is short of memory.
//!
//! Two kinds of rows are pooled: exited processes (`brief`), and threads other than their process's
//! main thread (`threads`). A pool is a normal row under a name that no task uses. For the reader,
//! the accounts in a pool end and the pool's account begins. When pooling ends, tasks get new
//! accounts that begin then. So books, recordings and readers need no code for pools.

mod brief;
mod threads;

use crate::ledger::book::Book;
use crate::ledger::key::{AccountId, Comm};
use crate::ledger::snapshot::Snapshot;
use brief::Brief;
use threads::Threads;

/// Name of the row of pooled exited processes.
pub const BRIEF: Comm = Comm(*b"(brief)\0\0\0\0\0\0\0\0\0");
/// Name of the row of pooled threads of a process.
pub const THREADS: Comm = Comm(*b"(threads)\0\0\0\0\0\0\0");

/// Flag in the account numbers that pooling makes; no source sets it.
const POOLED: u64 = 1 << 60;

/// The kinds of rows to pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pools {
    /// Exited processes: one row for each control group, user and followed tree.
    pub brief: bool,
    /// Threads other than main threads: one row for each process, control group, user and followed
    /// tree. The threads' waits are then unknown.
    pub threads: bool,
}

/// Pools rows of consecutive snapshots.
#[derive(Debug, Default)]
pub struct Pooling {
    pools: Pools,
    brief: Brief,
    threads: Threads,
    accounts: Accounts,
}

/// Generates account numbers that no source uses.
#[derive(Debug, Default)]
struct Accounts(u64);

impl Accounts {
    fn next(&mut self) -> AccountId {
        self.0 += 1;
        AccountId(self.0 | POOLED)
    }
}

impl Pooling {
    /// Sets what to pool from the next snapshot on.
    pub fn set(&mut self, pools: Pools) {
        self.pools = pools;
    }

    /// Pools the next snapshot. `before` has taken all pooled snapshots before it. A complete
    /// snapshot stays as it is; pooling restarts with the next one.
    pub fn take(&mut self, snapshot: &mut Snapshot, before: &Book) {
        let Some(t0_ns) = before.at_ns().filter(|_| !snapshot.complete) else {
            (self.brief, self.threads) = Default::default();
            return;
        };
        self.brief.take(&mut snapshot.exited, self.pools.brief, &mut self.accounts);
        self.threads.take(snapshot, self.pools.threads, (before, t0_ns), &mut self.accounts);
    }
}

#[cfg(test)]
mod tests;
