//! Processes that ended and were not reaped: a line each, without an account of time. Theirs has
//! been folded into their exited group, and their slot given back.
//!
//! The list shrinks when the kernel frees a task. A kernel may not show that, so each window holds the list
//! against the kernel's tasks.

use super::closing::Closed;
use super::kernel_side::KernelSide;
use super::skel::types::ex_zombie;
use super::tasks::Changes;
use crate::bpf::task::raw_ident;
use crate::error::SourceError;
use exactop_model::ledger::audit::TaskAudit;
use exactop_model::{AccountId, Counters, MicroState, TaskSample};
use rustc_hash::FxHashSet;

/// A dead process counts as a zombie when its parent has let it lie for so long; before, it is
/// likely reaped and only waiting for the kernel to free it.
const ZOMBIE_AFTER_NS: u64 = 100_000_000;
/// Set in the account of a zombie: the account of its slot is closed.
const ZOMBIE_ACCOUNT: u64 = 1 << 63;

/// Up to so many are asked after one by one; that costs less than looking through the whole list,
/// which has room for all there may ever be.
const FEW: usize = 32;

/// The reader's memory of who was a zombie.
#[derive(Default)]
pub struct ZombieReader {
    /// The list as it was last read, by the serials of accounts.
    listed: Vec<(u64, ex_zombie)>,
    shown: FxHashSet<u64>,
}

impl ZombieReader {
    /// Adds those that are zombies as of T and were not, and those that no longer are.
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

    /// Whether all who were on the list are, and nobody else: as many as there are now. One who
    /// comes just now is not counted yet, and would not be shown before the next window.
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

/// `t_ns`: since when it is told; in all of that time it has done nothing.
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
