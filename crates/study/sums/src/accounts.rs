//! Accounts of the CPUs' time, summed over windows.

use exactop_model::Books;

/// Time of interrupts or steal, if it is measured separately from the tasks that it interrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SplitTime {
    all_ns: u64,
    /// The part that interrupted named tasks.
    named_ns: u64,
    /// Number of windows that measured it.
    windows: u64,
    /// A window did not measure it.
    unmeasured: bool,
}

impl SplitTime {
    fn add(&mut self, all_ns: Option<u64>, named_ns: u64) {
        match all_ns {
            Some(all_ns) => {
                self.all_ns += all_ns;
                self.named_ns += named_ns;
                self.windows += 1;
            }
            None => self.unmeasured = true,
        }
    }

    fn known(&self) -> Option<u64> {
        (!self.unmeasured).then_some(self.all_ns)
    }

    /// Returns the time to the interrupted accounts: named tasks and idle.
    fn give_back(&mut self) -> (u64, u64) {
        let parts = (self.named_ns, self.all_ns - self.named_ns);
        *self = SplitTime { unmeasured: true, windows: self.windows, ..SplitTime::default() };
        parts
    }
}

/// The balance of some windows: the accounts and the residual sum up to the capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    /// CPUs x time, ns.
    pub capacity_ns: u64,
    /// Named tasks, including exited ones, ns.
    pub named_ns: u64,
    /// CPU time of unknown tasks, ns.
    pub unnamed_ns: u64,
    /// Idle time, ns.
    pub idle_ns: u64,
    /// Time of CPUs that were offline, ns.
    pub offline_ns: u64,
    /// Capacity minus the sum of the accounts, ns.
    pub residual_ns: i64,
    irq: SplitTime,
    steal: SplitTime,
}

impl Accounts {
    /// Adds a window; the arguments are the parts of its interrupts and steal that interrupted
    /// named tasks.
    pub(crate) fn add(&mut self, books: &Books, irq_named_ns: u64, steal_named_ns: u64) {
        self.capacity_ns += books.total_ns;
        self.named_ns += books.tasks_ns + books.exited_ns;
        self.unnamed_ns += books.unnamed_ns;
        self.idle_ns += books.idle_ns;
        self.offline_ns += books.offline_ns;
        self.residual_ns += books.residual_ns;
        self.irq.add(books.irq_ns, irq_named_ns);
        self.steal.add(books.steal_ns, steal_named_ns);
    }

    /// Adds the accounts of other windows.
    pub(crate) fn join(&mut self, other: &Accounts) {
        self.capacity_ns += other.capacity_ns;
        self.named_ns += other.named_ns;
        self.unnamed_ns += other.unnamed_ns;
        self.idle_ns += other.idle_ns;
        self.offline_ns += other.offline_ns;
        self.residual_ns += other.residual_ns;
        for (own, other) in [(&mut self.irq, &other.irq), (&mut self.steal, &other.steal)] {
            own.all_ns += other.all_ns;
            own.named_ns += other.named_ns;
            own.windows += other.windows;
            own.unmeasured |= other.unmeasured;
        }
    }

    /// CPU time of named and unknown tasks, ns.
    pub fn busy_ns(&self) -> u64 {
        self.named_ns + self.unnamed_ns
    }

    /// Interrupts, ns; `None` if a window did not measure them separately, as part of the
    /// interrupted tasks' time.
    pub fn irq_ns(&self) -> Option<u64> {
        self.irq.known()
    }

    /// Steal, ns; `None` if a window did not measure it separately, as part of the interrupted
    /// tasks' time.
    pub fn steal_ns(&self) -> Option<u64> {
        self.steal.known()
    }

    /// Number of windows that measured interrupts separately.
    pub fn irq_windows(&self) -> u64 {
        self.irq.windows
    }

    /// Number of windows that measured steal separately.
    pub fn steal_windows(&self) -> u64 {
        self.steal.windows
    }

    /// Returns the time of interrupts to the interrupted accounts.
    pub(crate) fn fold_irq(&mut self) {
        let (named_ns, idle_ns) = self.irq.give_back();
        self.named_ns += named_ns;
        self.idle_ns += idle_ns;
    }

    /// Returns stolen time to the interrupted accounts.
    pub(crate) fn fold_steal(&mut self) {
        let (named_ns, idle_ns) = self.steal.give_back();
        self.named_ns += named_ns;
        self.idle_ns += idle_ns;
    }

    /// True if the accounts equal the capacity.
    pub fn closes(&self) -> bool {
        let told = [self.irq_ns(), self.steal_ns()].into_iter().flatten().sum::<u64>();
        let sum = i128::from(self.busy_ns() + told + self.idle_ns + self.offline_ns);
        sum + i128::from(self.residual_ns) == i128::from(self.capacity_ns)
    }
}
