//! Processes that ended and were not reaped: a line each, without an account of time. Theirs has
//! been folded into their exited group, and their slot given back.

use super::closing::Closed;
use super::kernel_side::KernelSide;
use super::skel::types::ex_zombie;
use super::tasks::Changes;
use crate::bpf::task::raw_ident;
use crate::error::SourceError;
use exactop_model::{AccountId, Counters, MicroState, TaskSample};
use rustc_hash::FxHashSet;

/// A dead process counts as a zombie when its parent has let it lie for so long; before, it is
/// likely reaped and only waiting for the kernel to free it.
const ZOMBIE_AFTER_NS: u64 = 100_000_000;
/// Set in the account of a zombie: the account of its slot is closed.
const ZOMBIE_ACCOUNT: u64 = 1 << 63;

/// The reader's memory of who was a zombie.
#[derive(Default)]
pub struct ZombieReader {
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
        let listed = kernel.zombies()?;
        let mut now = FxHashSet::default();
        for zombie in listed.iter().filter(|z| z.since + ZOMBIE_AFTER_NS <= closed.t_ns) {
            let account = zombie.serial | ZOMBIE_ACCOUNT;
            now.insert(account);
            if !self.shown.contains(&account) {
                out.tasks.push(sample(zombie, account));
            }
        }
        out.gone.extend(self.shown.difference(&now).map(|&account| AccountId(account)));
        self.shown = now;
        Ok(())
    }
}

fn sample(zombie: &ex_zombie, account: u64) -> TaskSample {
    TaskSample {
        account: AccountId(account),
        key: raw_ident!(&zombie.id).key(),
        ident: raw_ident!(&zombie.id).ident(),
        state: MicroState::Zombie,
        letter: 'Z',
        since_ns: zombie.since,
        last_cpu: Some(zombie.cpu),
        followed: zombie.marked != 0,
        threads: None,
        counters: Counters::zero(),
    }
}
