//! Snapshots with fewer rows and the same sums, for a reader that is short of memory.
//!
//! Two kinds of rows are pooled: processes that exited (`brief`), and threads beside their process's main thread
//! (`threads`). A pool is a row like others, with a name that no task gives itself. Accounts that are pooled end for
//! whoever reads on, and pools begin; when pooling ends, what is told apart again has new accounts that begin then. So
//! books, recordings and readers need to know nothing of it.

mod brief;
mod threads;

use crate::ledger::book::Book;
use crate::ledger::key::{AccountId, Comm};
use crate::ledger::snapshot::Snapshot;
use brief::Brief;
use threads::Threads;

/// Name of the row that has processes which exited.
pub const BRIEF: Comm = Comm(*b"(brief)\0\0\0\0\0\0\0\0\0");
/// Name of the row that has threads of a process.
pub const THREADS: Comm = Comm(*b"(threads)\0\0\0\0\0\0\0");

/// Set in the accounts that are numbered here; no source sets it.
const POOLED: u64 = 1 << 60;

/// Which rows are pooled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pools {
    /// Processes that exited: one row for each control group, user and followed tree.
    pub brief: bool,
    /// Threads: beside the main thread's one row for each process, or some if its threads are in several control groups
    /// or of several users. How long they waited, and for what, is not known then.
    pub threads: bool,
}

/// Pools rows of snapshots that follow each other.
#[derive(Debug, Default)]
pub struct Pooling {
    pools: Pools,
    brief: Brief,
    threads: Threads,
    accounts: Accounts,
}

/// Numbers of accounts that no source has.
#[derive(Debug, Default)]
struct Accounts(u64);

impl Accounts {
    fn next(&mut self) -> AccountId {
        self.0 += 1;
        AccountId(self.0 | POOLED)
    }
}

impl Pooling {
    /// Pools these from the next snapshot on.
    pub fn set(&mut self, pools: Pools) {
        self.pools = pools;
    }

    /// Pools the next snapshot. `before` has taken all that were pooled before it. A complete snapshot stays as it is:
    /// pooling begins anew with the one after it.
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
