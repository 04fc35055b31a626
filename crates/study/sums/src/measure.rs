//! Measures for comparing rows: CPU time per unit of something.

use crate::accounts::Accounts;
use crate::slots::Sum;
use exactop_model::ledger::counters::CounterUnit;
use exactop_model::Counter;

/// Work of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Events of a counter.
    Events(Counter),
    /// Exited processes.
    Exits,
}

impl Work {
    /// All kinds of work, by name.
    pub fn all() -> impl Iterator<Item = Work> {
        let events = Counter::ALL.iter().filter(|c| c.info().unit == CounterUnit::Count);
        events.map(|&counter| Work::Events(counter)).chain([Work::Exits])
    }

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Work::Events(counter) => counter.info().id,
            Work::Exits => "exits",
        }
    }
}

/// Divisor of CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Per {
    /// Available CPU time: per cent of all CPUs.
    Cpu,
    /// Elapsed time: per cent of one CPU, as in top.
    Wall,
    /// The row's own work: ns per unit.
    Work(Work),
}

impl Per {
    /// Name of the divisor.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Unit of the figures.
    pub fn unit(self) -> String {
        match self {
            Per::Cpu => "per cent of all CPUs".into(),
            Per::Wall => "per cent of one CPU".into(),
            Per::Work(work) => format!("ns of CPU time for each of {}", work.name()),
        }
    }

    /// The work that must be counted for this measure.
    pub const fn work(self) -> Option<Work> {
        match self {
            Per::Work(work) => Some(work),
            _ => None,
        }
    }

    /// A change of the figure in per cent of one CPU, for this amount of work and range; `None` if
    /// its divisor is 0.
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

    /// Figure of a row; `None` if its divisor is 0 or unknown.
    pub(crate) fn figure(self, sum: &Sum, accounts: &Accounts, length_ns: u64) -> Option<f64> {
        let over = |ns: u64| (ns > 0).then(|| 100.0 * sum.run_ns as f64 / ns as f64);
        match self {
            Per::Cpu => over(accounts.capacity_ns),
            Per::Wall => over(length_ns),
            Per::Work(_) if sum.work_unknown || sum.work == 0 => None,
            Per::Work(_) => Some(sum.run_ns as f64 / sum.work as f64),
        }
    }
}
