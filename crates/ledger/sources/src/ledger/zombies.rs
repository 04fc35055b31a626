//! Processes that exited and were not reaped: one row each, without an account of time. Their time
//! is in their exited group, and their slot is free again.
//!
//! The list shrinks when the kernel frees a task. A kernel may not show that, so the reader
//! compares the list with the kernel's tasks in each window.

use super::closing::Closed;
use super::kernel_side::KernelSide;
use super::skel::types::ex_zombie;
use super::tasks::Changes;
use crate::bpf::task::raw_ident;
use crate::error::SourceError;
use exactop_model::ledger::audit::TaskAudit;
use exactop_model::{AccountId, Counters, MicroState, TaskSample};
use rustc_hash::FxHashSet;

/// Age from which a dead process counts as a zombie, ns. A younger one is probably reaped and waits
/// for the kernel to free it.
const ZOMBIE_AFTER_NS: u64 = 100_000_000;
/// Flag in the account of a zombie; the account of its slot has ended.
const ZOMBIE_ACCOUNT: u64 = 1 << 63;

/// Most zombies to check one by one. This costs less than reading the whole list, which has room
/// for the maximum.
const FEW: usize = 32;

/// The reader's memory of zombies.
#[derive(Default)]
pub struct ZombieReader {
    /// The list at its last read, by the serial of the account.
    listed: Vec<(u64, ex_zombie)>,
    shown: FxHashSet<u64>,
}

impl ZombieReader {
    /// Adds new zombies as of T, and ends the accounts of those that are gone.
    pub fn read(
        &mut self,
        kernel: &KernelSide,
        closed: &Closed,
        out: &mut Changes,
    ) -> Result<(), SourceError> {
        if !self.are_the_same(kernel)? {
            self.listed = kernel.zombies()?;
        }
        let mut now = FxHashSet::default();
        let is_due = |zombie: &ex_zombie| zombie.since + ZOMBIE_AFTER_NS <= closed.t_ns;
        for (serial, zombie) in self.listed.iter().filter(|(_, zombie)| is_due(zombie)) {
            let account = serial | ZOMBIE_ACCOUNT;
            now.insert(account);
            if !self.shown.contains(&account) {
                out.tasks.push(sample(zombie, account, closed.t_ns));
            }
        }
        out.gone.extend(self.shown.difference(&now).map(|&account| AccountId(account)));
        self.shown = now;
        Ok(())
    }

    /// True if the same processes are zombies as in the list. A process that is added just now does
    /// not count yet and would not be shown before the next window.
    fn are_the_same(&self, kernel: &KernelSide) -> Result<bool, SourceError> {
        let now = usize::try_from(kernel.globals.zombies_now()).ok();
        if now != Some(self.listed.len()) || self.listed.len() > FEW {
            return Ok(false);
        }
        for (serial, _) in &self.listed {
            if !kernel.is_zombie(*serial)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The sample of a zombie. `t_ns`: the start of its account; since then it has used nothing.
fn sample(zombie: &ex_zombie, account: u64, t_ns: u64) -> TaskSample {
    TaskSample {
        account: AccountId(account),
        key: raw_ident!(&zombie.id).key(),
        ident: raw_ident!(&zombie.id).ident(),
        state: MicroState::Zombie,
        letter: 'Z',
        since_ns: t_ns,
        last_cpu: Some(zombie.cpu),
        tree: zombie.tree,
        threads: None,
        counters: Counters::zero(),
        audit: TaskAudit::default(),
    }
}
