//! Sums of windows, with 128 bits.

use crate::rows::Account;

/// Accounts of some windows. Fields are named like the columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Sums {
    /// Number of rows.
    pub windows: u64,
    /// CPUs x length, computed from the rows, ns.
    pub cpus_x_time_ns: u128,
    pub capacity_ns: u128,
    pub tasks_ns: u128,
    pub exited_ns: u128,
    /// Windows whose source sees exits.
    pub exited_windows: u64,
    pub unnamed_ns: u128,
    pub irq_ns: u128,
    /// Windows that measure interrupts separately.
    pub irq_windows: u64,
    pub steal_ns: u128,
    pub steal_windows: u64,
    pub idle_ns: u128,
    pub offline_ns: u128,
    pub residual_ns: i128,
    /// CPU time in `charges`, ns.
    pub charged_ns: u128,
}

impl Sums {
    /// Adds a window.
    pub fn add(&mut self, row: &Account) {
        self.windows += 1;
        // The only product: a forged row could make it overflow.
        let cpus_x_time_ns = u128::from(row.cpus) * u128::from(row.length_ns);
        self.cpus_x_time_ns = self.cpus_x_time_ns.saturating_add(cpus_x_time_ns);
        self.capacity_ns += u128::from(row.capacity_ns);
        self.tasks_ns += u128::from(row.tasks_ns);
        self.exited_ns += row.exited_ns.map_or(0, u128::from);
        self.exited_windows += u64::from(row.exited_ns.is_some());
        self.unnamed_ns += u128::from(row.unnamed_ns);
        self.irq_ns += row.irq_ns.map_or(0, u128::from);
        self.irq_windows += u64::from(row.irq_ns.is_some());
        self.steal_ns += row.steal_ns.map_or(0, u128::from);
        self.steal_windows += u64::from(row.steal_ns.is_some());
        self.idle_ns += u128::from(row.idle_ns);
        self.offline_ns += u128::from(row.offline_ns);
        self.residual_ns += i128::from(row.residual_ns);
    }

    /// Adds other sums.
    pub fn and(&mut self, other: &Sums) {
        self.windows += other.windows;
        self.cpus_x_time_ns = self.cpus_x_time_ns.saturating_add(other.cpus_x_time_ns);
        self.capacity_ns += other.capacity_ns;
        self.tasks_ns += other.tasks_ns;
        self.exited_ns += other.exited_ns;
        self.exited_windows += other.exited_windows;
        self.unnamed_ns += other.unnamed_ns;
        self.irq_ns += other.irq_ns;
        self.irq_windows += other.irq_windows;
        self.steal_ns += other.steal_ns;
        self.steal_windows += other.steal_windows;
        self.idle_ns += other.idle_ns;
        self.offline_ns += other.offline_ns;
        self.residual_ns += other.residual_ns;
        self.charged_ns += other.charged_ns;
    }

    /// CPU time of tasks and exited tasks, ns.
    pub fn named_ns(&self) -> u128 {
        self.tasks_ns + self.exited_ns
    }

    /// Sum of all accounts, including the residual, ns.
    pub fn accounts_ns(&self) -> i128 {
        let told = self.irq_ns + self.steal_ns;
        let sum = self.named_ns() + self.unnamed_ns + told + self.idle_ns + self.offline_ns;
        sum as i128 + self.residual_ns
    }

    /// Accounts by name; `None` if no window has one separately.
    pub fn accounts(&self) -> [(&'static str, Option<i128>); 8] {
        let some = |ns: u128| Some(ns as i128);
        let told = |ns: u128, windows: u64| (windows > 0).then_some(ns as i128);
        [
            ("tasks", some(self.tasks_ns)),
            ("exited", told(self.exited_ns, self.exited_windows)),
            ("unnamed", some(self.unnamed_ns)),
            ("irq", told(self.irq_ns, self.irq_windows)),
            ("steal", told(self.steal_ns, self.steal_windows)),
            ("idle", some(self.idle_ns)),
            ("offline", some(self.offline_ns)),
            ("residual", Some(self.residual_ns)),
        ]
    }
}

/// Notes on accounts that only some windows of these sums have.
pub(crate) fn measured_in_part(all: &[&Sums]) -> Vec<String> {
    let in_part = |of: fn(&Sums) -> u64| {
        all.iter().any(|sums| of(sums) < sums.windows) && all.iter().any(|sums| of(sums) > 0)
    };
    let irq = in_part(|sums| sums.irq_windows).then_some("interrupts");
    let steal = in_part(|sums| sums.steal_windows).then_some("steal");
    let what: Vec<&str> = irq.into_iter().chain(steal).collect();
    let measured = (!what.is_empty()).then(|| {
        format!(
            "Not all windows measure {} separately: in the others it counts for the task that it interrupted.",
            what.join(" and ")
        )
    });
    let exits = in_part(|sums| sums.exited_windows);
    let seen =
        exits.then(|| "Not all windows see exits: in the others exited tasks are unnamed.".into());
    measured.into_iter().chain(seen).collect()
}

/// Per cent, for display.
pub(crate) fn pct(part: i128, all: u128) -> String {
    match all {
        0 => "-".into(),
        all => format!("{:.2}", 100.0 * part as f64 / all as f64),
    }
}

/// A duration in seconds, for display.
pub(crate) fn seconds(ns: u128) -> String {
    let s = ns as f64 / 1e9;
    match s {
        s if s >= 100.0 => format!("{s:.0} s"),
        s if s >= 1.0 => format!("{s:.1} s"),
        s => format!("{s:.3} s"),
    }
}
