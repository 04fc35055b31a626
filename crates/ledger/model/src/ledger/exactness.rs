//! How far a window can be relied on: missed events and repairs.

use crate::ledger::books::Books;
use crate::ledger::key::AccountId;
use crate::ledger::window::{TaskDelta, Window};
use rustc_hash::FxHashSet;

/// Exactness in three steps, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum WindowState {
    /// Residual 0, nothing missed, nothing repaired, and no task with a run-time difference in the
    /// audit.
    #[default]
    Exact,
    /// Residual 0; every missed event was repaired from the kernel's own counts.
    Repaired,
    /// A missed event could not be repaired, the residual is not 0, the audit found a run-time
    /// difference without a repair, or the source samples.
    Inexact,
}

impl WindowState {
    /// Name in JSON and on the screen.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// State of a window with these books. The number of repaired tasks is read at the window's
    /// end, the error counts some 100 us later. A repair in between marks its task in the next
    /// window only.
    pub fn from_window(window: &Window, books: &Books) -> Self {
        let set_right = window.errors.repaired() > 0
            || window.missed_switches() > Some(0)
            || window.repaired_tasks > Some(0);
        // A repair may leave a difference in the task's run time, so then the audit does not
        // decide.
        let is_off = window.audit.run.is_some_and(|run| run.max_ns > 0) && !set_right;
        match (books.close(window) && window.errors.inexact() == 0 && !is_off, set_right) {
            (true, false) => WindowState::Exact,
            (true, true) => WindowState::Repaired,
            (false, _) => WindowState::Inexact,
        }
    }
}

impl Window {
    /// State of this window; see [`WindowState`].
    pub fn state(&self) -> WindowState {
        WindowState::from_window(self, &Books::from_window(self))
    }
}

/// Repairs in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Repairs {
    /// Number of repairs, if the source sees events.
    pub events: Option<u64>,
    /// Number of repaired tasks, if known.
    pub tasks: Option<u64>,
    /// CPU time between the last event before an unseen switch and the next event, ns.
    pub ns: Option<u64>,
    /// Waits for a CPU that were taken from the kernel's own counts, ns. Waits that began after an
    /// unseen switch and ended with a seen one are not in it.
    pub wait_ns: Option<u64>,
}

impl Repairs {
    /// No repairs, from a source that counts them.
    pub fn nothing() -> Repairs {
        Repairs { events: Some(0), tasks: Some(0), ns: Some(0), wait_ns: Some(0) }
    }

    /// Repairs in this window.
    pub fn from_window(window: &Window) -> Repairs {
        Repairs {
            events: window.end.provenance.source.keeps_books().then(|| window.errors.repaired()),
            tasks: window.repaired_tasks,
            ns: window.repaired_ns,
            wait_ns: window.repaired_wait_ns,
        }
    }

    /// Adds the next window. `tasks` counts the tasks of both, each once.
    pub fn add(&mut self, next: &Repairs, tasks: &RepairedTasks) {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        self.events = sum(self.events, next.events);
        self.tasks = tasks.count();
        self.ns = sum(self.ns, next.ns);
        self.wait_ns = sum(self.wait_ns, next.wait_ns);
    }
}

/// Number of tasks that were repaired in at least one of several windows. Each task counts once. An
/// exited task may count twice: an exited group does not say which of its tasks were repaired.
#[derive(Clone, Debug, Default)]
pub struct RepairedTasks {
    living: FxHashSet<AccountId>,
    ended: u64,
    unknown: bool,
}

impl RepairedTasks {
    /// Adds a window.
    pub fn add(&mut self, window: &Window) {
        self.unknown |= window.repaired_tasks.is_none();
        let repaired = |task: &&TaskDelta| task.audit.is_some_and(|audit| audit.repairs > 0);
        self.living.extend(window.tasks.iter().filter(repaired).map(|task| task.sample.account));
        self.ended = window
            .exited
            .iter()
            .fold(self.ended, |sum, exited| sum.saturating_add(exited.audit.repaired));
    }

    /// Number of repaired tasks; `None` if it is unknown for one of the windows.
    pub fn count(&self) -> Option<u64> {
        let living = self.living.len() as u64;
        (!self.unknown).then(|| living.saturating_add(self.ended))
    }
}
