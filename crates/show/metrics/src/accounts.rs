//! The machine's accounts since the start: the CPUs' time, and its exactness.

use exactop_model::ledger::exactness::WindowState;
use exactop_model::{Books, ErrorCounts, ErrorKind, Window};

/// A sum with the time at which it was first known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunningSum {
    pub ns: u128,
    pub created_ns: u64,
}

/// Adds a known figure.
fn add(sum: &mut Option<RunningSum>, ns: Option<u64>, t0_ns: u64) {
    if let Some(ns) = ns {
        sum.get_or_insert(RunningSum { ns: 0, created_ns: t0_ns }).ns += u128::from(ns);
    }
}

#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub(crate) struct Accounts {
    pub tasks: Option<RunningSum>,
    pub exited: Option<RunningSum>,
    pub unnamed: Option<RunningSum>,
    pub irq: Option<RunningSum>,
    pub steal: Option<RunningSum>,
    pub idle: Option<RunningSum>,
    pub offline: Option<RunningSum>,
    pub residual_ns: i128,
    pub inexact_windows: u128,
    pub events: ErrorCounts,
    pub self_user: Option<RunningSum>,
    pub self_bpf: Option<RunningSum>,
    /// CPUs of the newest window.
    pub cpus: u64,
}

impl Accounts {
    pub fn advance(&mut self, window: &Window) {
        let (books, t0_ns) = (Books::from_window(window), window.t0_ns);
        add(&mut self.tasks, Some(books.tasks_ns), t0_ns);
        add(&mut self.exited, Some(books.exited_ns), t0_ns);
        add(&mut self.unnamed, Some(books.unnamed_ns), t0_ns);
        add(&mut self.irq, books.irq_ns, t0_ns);
        add(&mut self.steal, books.steal_ns, t0_ns);
        add(&mut self.idle, Some(books.idle_ns), t0_ns);
        add(&mut self.offline, Some(books.offline_ns), t0_ns);
        self.residual_ns += i128::from(books.residual_ns);
        let state = window.state();
        self.inexact_windows += u128::from(state == WindowState::Inexact);
        for &kind in ErrorKind::ALL {
            self.events.add(kind, window.errors.get(kind));
        }
        add(&mut self.self_user, Some(window.cost.user_ns), t0_ns);
        add(&mut self.self_bpf, window.cost.bpf_ns, t0_ns);
        self.cpus = window.cpus.len() as u64;
    }

    /// The accounts by their label values.
    pub fn accounts(&self) -> [(&'static str, Option<RunningSum>); 7] {
        [
            ("tasks", self.tasks),
            ("exited", self.exited),
            ("unnamed", self.unnamed),
            ("irq", self.irq),
            ("steal", self.steal),
            ("idle", self.idle),
            ("offline", self.offline),
        ]
    }
}
