//! The audit: the difference between the ledger's run time and run-queue wait of a task and the
//! kernel's counts over the same time (`sum_exec_runtime`, `sched_info.run_delay`).

use crate::ledger::key::{Comm, TaskKey};

/// The difference of one figure: the ledger's less the kernel's, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Difference {
    /// The part that the two clocks do not explain.
    pub error_ns: i64,
    /// The part that the two clocks explain: the kernel stamped the same events this much earlier.
    pub bias_ns: i64,
}

impl Difference {
    fn since(self, earlier: Difference) -> Difference {
        Difference {
            error_ns: self.error_ns.wrapping_sub(earlier.error_ns),
            bias_ns: self.bias_ns.wrapping_sub(earlier.bias_ns),
        }
    }

    fn and(self, later: Difference) -> Difference {
        Difference {
            error_ns: self.error_ns.wrapping_add(later.error_ns),
            bias_ns: self.bias_ns.wrapping_add(later.bias_ns),
        }
    }
}

/// Audit of one task since its audit began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TaskAudit {
    /// Time on CPUs, interrupts and steal included.
    pub run: Difference,
    /// Waits for a CPU, throttled waits included.
    pub lat: Difference,
    /// Number of repairs of this task after events that the kernel did not show.
    pub repairs: u64,
}

impl TaskAudit {
    /// The increase since `earlier`.
    pub fn since(&self, earlier: &TaskAudit) -> TaskAudit {
        TaskAudit {
            run: self.run.since(earlier.run),
            lat: self.lat.since(earlier.lat),
            repairs: self.repairs.wrapping_sub(earlier.repairs),
        }
    }

    /// This audit and that of the next window together.
    pub fn and(&self, later: &TaskAudit) -> TaskAudit {
        TaskAudit {
            run: self.run.and(later.run),
            lat: self.lat.and(later.lat),
            repairs: self.repairs.wrapping_add(later.repairs),
        }
    }

    /// The same as a part of an exited group, for a task that ends.
    pub fn at_exit(&self) -> ExitAudit {
        let without_sign = |of: Difference| ExitedDifference {
            error_ns: of.error_ns.unsigned_abs(),
            bias_ns: of.bias_ns.unsigned_abs(),
            worst_ns: of.error_ns.unsigned_abs(),
        };
        ExitAudit {
            run: without_sign(self.run),
            lat: without_sign(self.lat),
            repaired: u64::from(self.repairs > 0),
        }
    }
}

/// Difference of one figure over exited tasks. Each task's error counts without its sign, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct ExitedDifference {
    pub error_ns: u64,
    pub bias_ns: u64,
    /// Largest error of a task in the last window in which a task exited.
    pub worst_ns: u64,
}

/// Audit of a group of exited tasks. Each task counts with the audit of the window it exited in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct ExitAudit {
    pub run: ExitedDifference,
    pub lat: ExitedDifference,
    /// Number of these tasks that were repaired.
    pub repaired: u64,
}

impl ExitAudit {
    /// The increase since `earlier`. `worst_ns` already belongs to the window.
    pub fn since(&self, earlier: &ExitAudit) -> ExitAudit {
        let minus = |now: ExitedDifference, then: ExitedDifference| ExitedDifference {
            error_ns: now.error_ns.wrapping_sub(then.error_ns),
            bias_ns: now.bias_ns.wrapping_sub(then.bias_ns),
            worst_ns: now.worst_ns,
        };
        ExitAudit {
            run: minus(self.run, earlier.run),
            lat: minus(self.lat, earlier.lat),
            repaired: self.repaired.wrapping_sub(earlier.repaired),
        }
    }

    /// This audit and that of the next window together. A task counts in each window.
    pub fn and(&self, later: &ExitAudit) -> ExitAudit {
        let plus = |then: ExitedDifference, now: ExitedDifference| ExitedDifference {
            error_ns: then.error_ns.wrapping_add(now.error_ns),
            bias_ns: then.bias_ns.wrapping_add(now.bias_ns),
            worst_ns: then.worst_ns.max(now.worst_ns),
        };
        ExitAudit {
            run: plus(self.run, later.run),
            lat: plus(self.lat, later.lat),
            repaired: self.repaired.wrapping_add(later.repaired),
        }
    }
}

/// The task with the largest error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Worst {
    /// Key of the task. For an exited task the tgid is 0 if its process has exited too.
    pub key: TaskKey,
    pub comm: Comm,
    pub exited: bool,
    pub error_ns: u64,
}

/// Audit of one figure over all tasks of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct AuditFigure {
    /// Largest error of one task, ns.
    pub max_ns: u64,
    /// Sum of all errors, ns.
    pub sum_ns: u64,
    /// Sum of the parts that the clocks explain, ns.
    pub bias_ns: u64,
    /// The task with the largest error; `None` if all errors are 0.
    pub worst: Option<Worst>,
}

impl AuditFigure {
    /// Adds one task or one exited group.
    pub(crate) fn add(&mut self, error_ns: u64, bias_ns: u64, whose: Worst) {
        self.sum_ns = self.sum_ns.saturating_add(error_ns);
        self.bias_ns = self.bias_ns.saturating_add(bias_ns);
        if whose.error_ns > self.max_ns {
            self.max_ns = whose.error_ns;
            self.worst = Some(whose);
        }
    }
}

/// Audit of a window; a figure is `None` if the kernel does not count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct Audit {
    pub run: Option<AuditFigure>,
    pub lat: Option<AuditFigure>,
}

impl Audit {
    /// An audit without a difference, for a kernel that counts both figures.
    pub fn nothing() -> Audit {
        Audit { run: Some(AuditFigure::default()), lat: Some(AuditFigure::default()) }
    }

    /// Adds the next window. The largest error stays that of one task in one window.
    pub fn add(&mut self, next: &Audit) {
        let sum = |a: Option<AuditFigure>, b: Option<AuditFigure>| {
            let (mut sum, b) = (a?, b?);
            sum.sum_ns = sum.sum_ns.saturating_add(b.sum_ns);
            sum.bias_ns = sum.bias_ns.saturating_add(b.bias_ns);
            if b.max_ns > sum.max_ns {
                (sum.max_ns, sum.worst) = (b.max_ns, b.worst);
            }
            Some(sum)
        };
        self.run = sum(self.run, next.run);
        self.lat = sum(self.lat, next.lat);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audit(error_ns: i64, bias_ns: i64, repairs: u64) -> TaskAudit {
        let run = Difference { error_ns, bias_ns };
        TaskAudit { run, lat: Difference { error_ns: -error_ns, bias_ns: 7 }, repairs }
    }

    #[test]
    fn windows_add_up_to_the_audit_between_their_ends() {
        let (a, b, c) = (audit(3, 40, 1), audit(-5, 45, 1), audit(9, 60, 3));
        assert_eq!(b.since(&a).and(&c.since(&b)), c.since(&a));
    }

    #[test]
    fn a_group_sums_errors_without_sign_and_keeps_the_worst() {
        let (one, other) = (audit(-5, -2, 2).at_exit(), audit(3, 4, 0).at_exit());
        let both = one.and(&other);
        let difference = |error_ns, bias_ns| ExitedDifference { error_ns, bias_ns, worst_ns: 5 };
        assert_eq!((both.run, both.lat), (difference(8, 6), difference(8, 14)));
        assert_eq!((one.repaired, both.repaired), (1, 1));
    }
}
