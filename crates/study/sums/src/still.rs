//! Time of tasks without events. Such a task stays in its state and is in no window until an event
//! happens; its time in that state counts all the same.

use exactop_model::{AccountId, Counter, MicroState};
use rustc_hash::FxHashMap;

/// A task since its last event.
#[derive(Clone, Copy, Debug)]
struct PendingState {
    state: MicroState,
    until_ns: u64,
    row: u32,
}

/// Time of a row in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateTime {
    pub row: u32,
    pub state: MicroState,
    pub ns: u64,
}

impl StateTime {
    /// Counters that grew meanwhile. A running task is in every window, with its charged time.
    pub fn counters(&self) -> impl Iterator<Item = Counter> {
        self.state.counters().iter().copied().filter(|&counter| counter != Counter::RunNs)
    }
}

impl PendingState {
    fn to(self, at_ns: u64) -> Option<StateTime> {
        let ns = at_ns.checked_sub(self.until_ns).filter(|&ns| ns > 0)?;
        Some(StateTime { row: self.row, state: self.state, ns })
    }
}

/// All living tasks, over consecutive windows.
#[derive(Debug, Default)]
pub(crate) struct StateTracker {
    tasks: FxHashMap<AccountId, PendingState>,
}

impl StateTracker {
    /// A task had an event; returns its time up to the beginning of that window.
    pub fn changes(
        &mut self,
        (account, state): (AccountId, MicroState),
        row: u32,
        (t0_ns, t1_ns): (u64, u64),
    ) -> Option<StateTime> {
        let now = PendingState { state, until_ns: t1_ns, row };
        self.tasks.insert(account, now).and_then(|before| before.to(t0_ns))
    }

    /// All tasks, each with its row.
    pub fn rows(&self) -> impl Iterator<Item = (AccountId, u32)> + '_ {
        self.tasks.iter().map(|(&account, standing)| (account, standing.row))
    }

    /// True if the task is known.
    pub fn has(&self, account: AccountId) -> bool {
        self.tasks.contains_key(&account)
    }

    /// Number of tasks.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Removes exited tasks; returns their time up to the beginning of the window in which they
    /// ended.
    pub fn end(&mut self, lives: impl Fn(AccountId) -> bool, t0_ns: u64) -> Vec<StateTime> {
        let ended = self.tasks.extract_if(|&account, _| !lives(account));
        ended.filter_map(|(_, standing)| standing.to(t0_ns)).collect()
    }

    /// The windows do not continue; returns the time of all tasks up to there.
    pub fn leave(&mut self, at_ns: u64) -> Vec<StateTime> {
        self.tasks.drain().filter_map(|(_, standing)| standing.to(at_ns)).collect()
    }
}
