//! Where the CPUs' time went in some windows together.

use exactop_model::Books;

/// Time that is told apart from whom it hit, where that is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Taken {
    all_ns: u64,
    /// What of it hit somebody with a name.
    named_ns: u64,
    /// In some window it was not measured.
    unmeasured: bool,
}

impl Taken {
    fn add(&mut self, all_ns: Option<u64>, named_ns: u64) {
        match all_ns {
            Some(all_ns) => {
                self.all_ns += all_ns;
                self.named_ns += named_ns;
            }
            None => self.unmeasured = true,
        }
    }

    fn known(&self) -> Option<u64> {
        (!self.unmeasured).then_some(self.all_ns)
    }

    /// What goes back to whom it hit: to those with a name, and to idle.
    fn give_back(&mut self) -> (u64, u64) {
        let parts = (self.named_ns, self.all_ns - self.named_ns);
        *self = Taken { unmeasured: true, ..Taken::default() };
        parts
    }
}

/// The balance of some windows: the sum of all accounts and the residual is the capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    /// CPUs x time.
    pub capacity_ns: u64,
    /// Tasks that have a name, those that exited included.
    pub named_ns: u64,
    /// Executing, but nobody knows who.
    pub unnamed_ns: u64,
    /// Nothing to do.
    pub idle_ns: u64,
    /// CPUs that were switched off.
    pub offline_ns: u64,
    /// What is missing for the sum to come out.
    pub residual_ns: i64,
    irq: Taken,
    steal: Taken,
}

impl Accounts {
    /// Takes a window, of whose interrupts and stolen time so much hit somebody with a name.
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

    /// Takes those of other windows.
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
            own.unmeasured |= other.unmeasured;
        }
    }

    /// Executing.
    pub fn busy_ns(&self) -> u64 {
        self.named_ns + self.unnamed_ns
    }

    /// Interrupts; `None`: not measured in all windows, and part of whom they hit.
    pub fn irq_ns(&self) -> Option<u64> {
        self.irq.known()
    }

    /// Stolen; `None`: not measured in all windows, and part of whom it hit.
    pub fn steal_ns(&self) -> Option<u64> {
        self.steal.known()
    }

    /// Interrupts go back to whom they hit.
    pub(crate) fn fold_irq(&mut self) {
        let (named_ns, idle_ns) = self.irq.give_back();
        self.named_ns += named_ns;
        self.idle_ns += idle_ns;
    }

    /// Stolen time goes back to whom it hit.
    pub(crate) fn fold_steal(&mut self) {
        let (named_ns, idle_ns) = self.steal.give_back();
        self.named_ns += named_ns;
        self.idle_ns += idle_ns;
    }

    /// Whether everything is accounted for.
    pub fn closes(&self) -> bool {
        let told = [self.irq_ns(), self.steal_ns()].into_iter().flatten().sum::<u64>();
        let sum = i128::from(self.busy_ns() + told + self.idle_ns + self.offline_ns);
        sum + i128::from(self.residual_ns) == i128::from(self.capacity_ns)
    }
}
