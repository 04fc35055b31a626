//! What tasks do while nothing happens to them: they stay in the state they are in, and are in no
//! window until something does. Their time in that state counts all the same.

use exactop_model::{AccountId, Counter, MicroState};
use rustc_hash::FxHashMap;

/// A task since something happened to it last.
#[derive(Clone, Copy, Debug)]
struct Standing {
    state: MicroState,
    until_ns: u64,
    row: u32,
}

/// Time in a state, of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stood {
    pub row: u32,
    pub state: MicroState,
    pub ns: u64,
}

impl Stood {
    /// What grew meanwhile. Who runs is in every window, with what the books say of it.
    pub fn counters(&self) -> impl Iterator<Item = Counter> {
        self.state.counters().iter().copied().filter(|&counter| counter != Counter::RunNs)
    }
}

impl Standing {
    fn to(self, at_ns: u64) -> Option<Stood> {
        let ns = at_ns.checked_sub(self.until_ns).filter(|&ns| ns > 0)?;
        Some(Stood { row: self.row, state: self.state, ns })
    }
}

/// Everyone who lives, over windows that follow each other.
#[derive(Debug, Default)]
pub(crate) struct Still {
    tasks: FxHashMap<AccountId, Standing>,
}

impl Still {
    /// Something happened to a task by then; what it did up to the beginning of that window.
    pub fn changes(
        &mut self,
        (account, state): (AccountId, MicroState),
        row: u32,
        (t0_ns, t1_ns): (u64, u64),
    ) -> Option<Stood> {
        let now = Standing { state, until_ns: t1_ns, row };
        self.tasks.insert(account, now).and_then(|before| before.to(t0_ns))
    }

    /// Whether a task is known already.
    pub fn has(&self, account: AccountId) -> bool {
        self.tasks.contains_key(&account)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Those who live no more did this up to the beginning of the window they ended in.
    pub fn end(&mut self, lives: impl Fn(AccountId) -> bool, t0_ns: u64) -> Vec<Stood> {
        let ended = self.tasks.extract_if(|&account, _| !lives(account));
        ended.filter_map(|(_, standing)| standing.to(t0_ns)).collect()
    }

    /// Windows do not go on from there: what everyone did up to it.
    pub fn leave(&mut self, at_ns: u64) -> Vec<Stood> {
        self.tasks.drain().filter_map(|(_, standing)| standing.to(at_ns)).collect()
    }
}
