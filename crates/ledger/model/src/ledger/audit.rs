//! The audit: what the ledger says of a task's run time and run-queue wait, held against what the
//! kernel counted of them (`sum_exec_runtime`, `sched_info.run_delay`) in the same stretch.

use crate::ledger::key::{Comm, TaskKey};

/// One figure: ours less the kernel's, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Difference {
    /// What the two clocks do not explain.
    pub error_ns: i64,
    /// What they do: the kernel's stamps of the same events lay before ours by so much.
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

/// Of a task, since its audit began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TaskAudit {
    /// Time on CPUs, interrupts and steal included.
    pub run: Difference,
    /// Waits for a CPU, throttled ones included.
    pub lat: Difference,
    /// How often something of the task was set right after an event that was not shown.
    pub repairs: u64,
}

impl TaskAudit {
    /// What came on top of `earlier`.
    pub fn since(&self, earlier: &TaskAudit) -> TaskAudit {
        TaskAudit {
            run: self.run.since(earlier.run),
            lat: self.lat.since(earlier.lat),
            repairs: self.repairs.wrapping_sub(earlier.repairs),
        }
    }

    /// With what came in the next window.
    pub fn and(&self, later: &TaskAudit) -> TaskAudit {
        TaskAudit {
            run: self.run.and(later.run),
            lat: self.lat.and(later.lat),
            repairs: self.repairs.wrapping_add(later.repairs),
        }
    }

    /// As a part of the group of a task that ends.
    pub fn of_who_ends(&self) -> ExitAudit {
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

/// One figure of tasks that exited, each without its sign, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct ExitedDifference {
    pub error_ns: u64,
    pub bias_ns: u64,
    /// The largest error of a task in the last window in which one exited.
    pub worst_ns: u64,
}

/// Of a group of exited tasks: sums of what they were in the windows they died in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct ExitAudit {
    pub run: ExitedDifference,
    pub lat: ExitedDifference,
    /// How many of them something was set right of.
    pub repaired: u64,
}

impl ExitAudit {
    /// What came on top of `earlier`; the worst is the window's anyway.
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

    /// With what came in the next window: a task counts in each.
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

/// Whose difference is the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Worst {
    /// Of an exited task its process is not known if that went, too.
    pub key: TaskKey,
    pub comm: Comm,
    pub exited: bool,
    pub error_ns: u64,
}

/// One figure of a window, over all tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct Held {
    /// The largest error of a task.
    pub max_ns: u64,
    /// All of them.
    pub sum_ns: u64,
    /// What the clocks explain, over all tasks.
    pub bias_ns: u64,
    /// Whose the largest is; nobody's if all are 0.
    pub worst: Option<Worst>,
}

impl Held {
    /// Adds one task's, or a group's.
    pub(crate) fn add(&mut self, error_ns: u64, bias_ns: u64, whose: Worst) {
        self.sum_ns = self.sum_ns.saturating_add(error_ns);
        self.bias_ns = self.bias_ns.saturating_add(bias_ns);
        if whose.error_ns > self.max_ns {
            self.max_ns = whose.error_ns;
            self.worst = Some(whose);
        }
    }
}

/// A window's audit; `None` where the kernel has no such count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct Audit {
    pub run: Option<Held>,
    pub lat: Option<Held>,
}

impl Audit {
    /// Of a kernel that counts both: no difference yet.
    pub fn nothing() -> Audit {
        Audit { run: Some(Held::default()), lat: Some(Held::default()) }
    }

    /// Adds the next window's: the largest stays the largest of one task in one window.
    pub fn add(&mut self, next: &Audit) {
        let sum = |a: Option<Held>, b: Option<Held>| {
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
    fn windows_add_up_to_what_lies_between_their_ends() {
        let (a, b, c) = (audit(3, 40, 1), audit(-5, 45, 1), audit(9, 60, 3));
        assert_eq!(b.since(&a).and(&c.since(&b)), c.since(&a));
    }

    #[test]
    fn of_groups_each_task_counts_without_its_sign_and_the_worst_stays() {
        let (one, other) = (audit(-5, -2, 2).of_who_ends(), audit(3, 4, 0).of_who_ends());
        let both = one.and(&other);
        let difference = |error_ns, bias_ns| ExitedDifference { error_ns, bias_ns, worst_ns: 5 };
        assert_eq!((both.run, both.lat), (difference(8, 6), difference(8, 14)));
        assert_eq!((one.repaired, both.repaired), (1, 1));
    }
}
