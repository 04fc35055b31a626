//! How far a window can be relied on: what was missed in it, and what was set right.

use crate::ledger::books::Books;
use crate::ledger::key::AccountId;
use crate::ledger::window::{TaskDelta, Window};
use rustc_hash::FxHashSet;

/// In three steps, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum WindowState {
    /// Residual 0, nothing missed, nothing set right, and the audit of run time found nobody off.
    #[default]
    Exact,
    /// Residual 0; what was missed was set right from the kernel's own counts.
    Repaired,
    /// Something was missed that could not be set right, the residual is not 0, the audit of run time
    /// found a difference that no repair explains, or it was sampled.
    Inexact,
}

impl WindowState {
    /// The name in JSON and on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            WindowState::Exact => "exact",
            WindowState::Repaired => "repaired",
            WindowState::Inexact => "inexact",
        }
    }

    /// Of a window with these books. Who was set right of is known as of the window's end, and what
    /// went wrong some 100 us later: a repair in between tells of its task in the next window only.
    pub fn of(window: &Window, books: &Books) -> Self {
        let set_right = window.errors.repaired() > 0
            || window.missed_switches() > Some(0)
            || window.repaired_tasks > Some(0);
        // Where something was set right a task may be off by that.
        let is_off = window.audit.run.is_some_and(|run| run.max_ns > 0) && !set_right;
        match (books.close(window) && window.errors.inexact() == 0 && !is_off, set_right) {
            (true, false) => WindowState::Exact,
            (true, true) => WindowState::Repaired,
            (false, _) => WindowState::Inexact,
        }
    }
}

impl Window {
    /// How far it can be relied on.
    pub fn state(&self) -> WindowState {
        WindowState::of(self, &Books::of(self))
    }
}

/// What was set right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Repairs {
    /// How often, where a source sees events.
    pub events: Option<u64>,
    /// Of how many tasks, where known.
    pub tasks: Option<u64>,
    /// CPU time between the last event that was seen before a switch that was not, and the next.
    pub ns: Option<u64>,
    /// Waits for a CPU that were taken from the kernel's own counts; not those that began after a
    /// switch which was not seen and ended with one that was.
    pub wait_ns: Option<u64>,
}

impl Repairs {
    /// Nothing, of a source that would know.
    pub fn nothing() -> Repairs {
        Repairs { events: Some(0), tasks: Some(0), ns: Some(0), wait_ns: Some(0) }
    }

    /// Those of a window.
    pub fn of(window: &Window) -> Repairs {
        Repairs {
            events: window.end.provenance.source.keeps_books().then(|| window.errors.repaired()),
            tasks: window.repaired_tasks,
            ns: window.repaired_ns,
            wait_ns: window.repaired_wait_ns,
        }
    }

    /// Adds those of the next window; of how many tasks both were, [`RepairedTasks`] tells.
    pub fn add(&mut self, next: &Repairs, tasks: &RepairedTasks) {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        self.events = sum(self.events, next.events);
        self.tasks = tasks.count();
        self.ns = sum(self.ns, next.ns);
        self.wait_ns = sum(self.wait_ns, next.wait_ns);
    }
}

/// Of how many tasks something was set right in one of some windows. Each counts once, but for who
/// ended: which of its exited group it was nobody can say, so it may have counted before.
#[derive(Clone, Debug, Default)]
pub struct RepairedTasks {
    living: FxHashSet<AccountId>,
    ended: u64,
    unknown: bool,
}

impl RepairedTasks {
    /// Adds those of a window.
    pub fn add(&mut self, window: &Window) {
        self.unknown |= window.repaired_tasks.is_none();
        let repaired = |task: &&TaskDelta| task.audit.is_some_and(|audit| audit.repairs > 0);
        self.living.extend(window.tasks.iter().filter(repaired).map(|task| task.sample.account));
        self.ended = window
            .exited
            .iter()
            .fold(self.ended, |sum, exited| sum.saturating_add(exited.audit.repaired));
    }

    /// How many; `None` if it is not known of a window.
    pub fn count(&self) -> Option<u64> {
        let living = self.living.len() as u64;
        (!self.unknown).then(|| living.saturating_add(self.ended))
    }
}
