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

/// Most zombies to look at one by one. This costs less than reading the whole list, which has room
/// for the maximum.
const FEW: usize = 256;

/// The reader's memory of zombies.
#[derive(Default)]
pub struct ZombieReader {
    /// By the serial of the account. Young ones may be gone.
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
        let is_due = |zombie: &ex_zombie| zombie.since + ZOMBIE_AFTER_NS <= closed.t_ns;
        self.list(kernel, is_due)?;
        let mut now = FxHashSet::default();
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

    /// Lists the zombies of now. One that is added meanwhile is listed next time.
    fn list(
        &mut self,
        kernel: &KernelSide,
        is_due: impl Fn(&ex_zombie) -> bool,
    ) -> Result<(), SourceError> {
        let new = kernel.globals.take_new_zombies();
        if kernel.globals.zombies_now() == 0 {
            self.listed.clear();
            return Ok(());
        }
        let Some(new) = new.filter(|new| self.listed.len() + new.len() <= FEW) else {
            self.listed = kernel.zombies()?;
            return Ok(());
        };
        for serial in new {
            // It is listed already if the list was read as a whole after the program had added it.
            let zombie = kernel.zombie(serial)?.filter(|_| !self.lists(serial));
            self.listed.extend(zombie.map(|zombie| (serial, zombie)));
        }
        let mut gone = Vec::new();
        for (serial, _) in self.listed.iter().filter(|(_, zombie)| is_due(zombie)) {
            if !kernel.is_zombie(*serial)? {
                gone.push(*serial);
            }
        }
        self.listed.retain(|(serial, _)| !gone.contains(serial));
        Ok(())
    }

    fn lists(&self, serial: u64) -> bool {
        self.listed.iter().any(|(listed, _)| *listed == serial)
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
