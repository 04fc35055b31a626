//! What rows are measured by when they are compared: CPU time a unit of something.

use crate::accounts::Accounts;
use crate::slots::Sum;
use exactop_model::ledger::counters::CounterUnit;
use exactop_model::Counter;

/// What a row's work is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A counter of events.
    Events(Counter),
    /// Processes that exited.
    Exits,
}

impl Work {
    /// Everything there is, by name.
    pub fn all() -> impl Iterator<Item = Work> {
        let events = Counter::ALL.iter().filter(|c| c.info().unit == CounterUnit::Count);
        events.map(|&counter| Work::Events(counter)).chain([Work::Exits])
    }

    /// Its name, as it is typed.
    pub const fn name(self) -> &'static str {
        match self {
            Work::Events(counter) => counter.info().id,
            Work::Exits => "exits",
        }
    }
}

/// What CPU time is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// The CPU time there was: per cent of all CPUs.
    Cpu,
    /// Elapsed time: per cent of one CPU, as top has it.
    Wall,
    /// The row's own work: ns for each.
    Work(Work),
}

impl Per {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Per::Cpu => "cpu",
            Per::Wall => "wall",
            Per::Work(_) => "work",
        }
    }

    /// The unit of what comes out.
    pub fn unit(self) -> String {
        match self {
            Per::Cpu => "per cent of all CPUs".into(),
            Per::Wall => "per cent of one CPU".into(),
            Per::Work(work) => format!("ns of CPU time for each of {}", work.name()),
        }
    }

    /// The work that has to be counted for it.
    pub const fn work(self) -> Option<Work> {
        match self {
            Per::Work(work) => Some(work),
            _ => None,
        }
    }

    /// What a change of the figure comes to, per cent of one CPU, at so much work in such a stretch;
    /// `None`: nothing to divide by.
    pub(crate) fn of_one_cpu_pct(
        self,
        change: f64,
        work: u64,
        accounts: &Accounts,
        length_ns: u64,
    ) -> Option<f64> {
        let length = (length_ns > 0).then_some(length_ns as f64)?;
        Some(match self {
            Per::Cpu => change * accounts.capacity_ns as f64 / length,
            Per::Wall => change,
            Per::Work(_) => 100.0 * change * work as f64 / length,
        })
    }

    /// A row's figure; `None`: there was nothing of what it is divided by, or that is not known.
    pub(crate) fn of(self, sum: &Sum, accounts: &Accounts, length_ns: u64) -> Option<f64> {
        let over = |ns: u64| (ns > 0).then(|| 100.0 * sum.run_ns as f64 / ns as f64);
        match self {
            Per::Cpu => over(accounts.capacity_ns),
            Per::Wall => over(length_ns),
            Per::Work(_) if sum.work_unknown || sum.work == 0 => None,
            Per::Work(_) => Some(sum.run_ns as f64 / sum.work as f64),
        }
    }
}
