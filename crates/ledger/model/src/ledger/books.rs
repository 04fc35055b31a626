//! The books of a window: the time of every CPU, and the residual.

use crate::ledger::counters::Counter;
use crate::ledger::window::Window;

/// The balance of a window: where the CPUs' time went. All accounts and the residual sum to
/// `total_ns`; the residual is 0 when the books close.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct Books {
    /// CPUs x window length.
    pub total_ns: u64,
    /// Tasks that are alive at the window's end.
    pub tasks_ns: u64,
    /// Tasks that exited in the window.
    pub exited_ns: u64,
    /// Tasks outside of the daemon's PID namespace, as one sum; `None`: every task has its own
    /// account.
    pub outside_ns: Option<u64>,
    /// CPU time of a task that is unknown.
    pub unnamed_ns: u64,
    /// Interrupts, if measured; else their time is part of the task or idle time they interrupted.
    pub irq_ns: Option<u64>,
    /// Stolen, if measured; else part of the task or idle time that it was taken from.
    pub steal_ns: Option<u64>,
    pub idle_ns: u64,
    pub offline_ns: u64,
    /// `total_ns` less the sum of all accounts.
    pub residual_ns: i64,
}

impl Books {
    /// The balance. Task time and task steal come from the tasks' accounts, idle and the rest from
    /// the CPUs' accounts. No figure is computed as a remainder, so a lost charge shows in the
    /// residual.
    pub fn from_window(window: &Window) -> Books {
        let of_tasks = |c: Counter| window.tasks.iter().filter_map(|t| t.delta.get(c)).sum::<u64>();
        let of_exited =
            |c: Counter| window.exited.iter().filter_map(|e| e.delta.get(c)).sum::<u64>();
        let cpus = || window.cpus.iter().map(|c| &c.time);
        let outside = window.outside.unwrap_or_default();
        let mut books = Books {
            total_ns: window.length_ns() * window.cpus.len() as u64,
            tasks_ns: of_tasks(Counter::RunNs),
            exited_ns: of_exited(Counter::RunNs),
            outside_ns: window.outside.map(|outside| outside.run_ns),
            unnamed_ns: cpus().map(|c| c.unnamed_ns + c.no_name_ns).fold(0, u64::wrapping_add),
            irq_ns: cpus()
                .map(|c| c.irq_idle_ns)
                .sum::<Option<u64>>()
                .map(|cpu| cpu + of_tasks(Counter::IrqNs) + of_exited(Counter::IrqNs))
                .map(|ns| ns.wrapping_add(outside.irq_ns)),
            steal_ns: cpus()
                .map(|c| c.steal_idle_ns)
                .sum::<Option<u64>>()
                .map(|cpu| cpu + of_tasks(Counter::StealNs) + of_exited(Counter::StealNs))
                .map(|ns| ns.wrapping_add(outside.steal_ns)),
            idle_ns: cpus().map(|c| c.idle_ns).fold(0, u64::wrapping_add),
            offline_ns: cpus().map(|c| c.offline_ns).fold(0, u64::wrapping_add),
            residual_ns: 0,
        };
        if !window.end.provenance.source.keeps_books() {
            // /proc/stat gives the time that the CPUs were busy; the part without a visible task is
            // unnamed. Ticks are coarse, so tasks may have more than that: the excess shows as a
            // residual.
            let busy = cpus().map(|c| c.task_ns).fold(0, u64::wrapping_add);
            books.unnamed_ns = busy.saturating_sub(books.tasks_ns + books.exited_ns);
        }
        let tasks = [books.tasks_ns, books.exited_ns, books.unnamed_ns];
        let others = [books.idle_ns, books.offline_ns].into_iter().chain(books.irq_ns);
        let others = others.chain(books.steal_ns).chain(books.outside_ns);
        let sum = tasks.into_iter().chain(others).fold(0, u64::wrapping_add);
        books.residual_ns = books.total_ns.wrapping_sub(sum) as i64;
        books
    }

    /// True if the books of the window and of each CPU close. The same events make both in
    /// different ways.
    pub(crate) fn close(&self, window: &Window) -> bool {
        self.residual_ns == 0
            && window.end.provenance.source.keeps_books()
            && window.cpus.iter().all(|c| c.residual_ns == 0)
    }
}
