//! Errors of the accounting. All of them are counted and shown.

/// Effect of an error on the figures of its window.
#[derive(Clone, Copy)]
enum Leaves {
    /// No figure changes.
    Exact,
    /// Figures were repaired.
    Repaired,
    /// A figure is unknown.
    Inexact,
}

macro_rules! errors {
    ($($name:ident, $id:literal, $short:literal, $leaves:ident, $meaning:literal;)*) => {
        /// A kind of missed or impossible event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum ErrorKind {
            $(#[doc = $meaning] $name,)*
        }

        impl ErrorKind {
            /// All kinds, in table order.
            pub const ALL: &'static [ErrorKind] = &[$(ErrorKind::$name,)*];
            /// Number of kinds.
            pub const COUNT: usize = ErrorKind::ALL.len();
            /// Name in JSON.
            pub const fn id(self) -> &'static str {
                [$($id,)*][self as usize]
            }
            /// Short name on screens, before its count.
            pub const fn short(self) -> &'static str {
                [$($short,)*][self as usize]
            }
            /// Effect on the figures.
            const fn leaves(self) -> Leaves {
                [$(Leaves::$leaves,)*][self as usize]
            }
            /// True if a window with such an error is not exact.
            pub const fn inexact(self) -> bool {
                matches!(self.leaves(), Leaves::Inexact)
            }
            /// True if figures were repaired after such an error: they come from the kernel's own
            /// counts instead of events.
            pub const fn repaired(self) -> bool {
                matches!(self.leaves(), Leaves::Repaired)
            }
            /// True if a full table left a task or a group without a place, so that its time is
            /// unnamed.
            pub const fn leaves_no_place(self) -> bool {
                matches!(self, ErrorKind::NoSlot | ErrorKind::NoStorage | ErrorKind::NoGroup)
            }
            /// The error in words.
            pub const fn meaning(self) -> &'static str {
                [$($meaning,)*][self as usize]
            }
        }
    };
}

errors! {
    Recursion, "recursion", "programs skipped", Inexact, "The kernel skipped a program because it was already running on that CPU.";
    UnseenSwitch, "unseen_switch", "switches not shown", Repaired, "The kernel did not show a context switch; the ledger took the run time from the kernel's own count.";
    MissedSwitch, "missed_switch", "run times unknown", Inexact, "The kernel hid a context switch on a CPU that seemed idle, or a task came onto a CPU that another task still had; the task that ran there is unknown.";
    UnseenBirth, "unseen_birth", "births not shown", Repaired, "A task's birth was not shown; its account begins when it first came onto a CPU.";
    UnseenExit, "unseen_exit", "exits not shown", Repaired, "A task's exit was not shown; its last switch ended its account.";
    UnseenIrq, "unseen_irq", "interrupts not shown", Inexact, "An interrupt's begin or end was not shown; its time is part of the task or idle time that it interrupted.";
    NoSlot, "no_slot", "tasks without a slot", Inexact, "A task could not get a slot; its time went to the unnamed account.";
    NoStorage, "no_storage", "tasks without memory", Inexact, "The kernel had no memory for a task's slot number; its time went to the unnamed account.";
    NoGroup, "no_group", "exits without a slot", Inexact, "The table of exited groups was full; the exited time went to the unnamed account.";
    NoMove, "no_move", "group changes not recorded", Inexact, "The table of moves between control groups was full; the time of a task before its move counts for its new group.";
    FreeList, "free_list", "slots not freed", Exact, "A slot could not be given back; it stays unused until the next start.";
    DirtyList, "dirty_list", "full task scans", Exact, "The list of changed tasks overflowed; the reader read all tasks instead.";
    ClockStep, "clock_step", "clock stepped", Repaired, "The clock of one CPU was behind another's; the event got the later time.";
    LostWakeup, "lost_wakeup", "wake-ups not shown", Repaired, "The kernel did not show a wake-up, or a signal cancelled a sleep; the wait begins when the kernel queued the task.";
    Backwards, "backwards", "counts ran backwards", Inexact, "A cumulative counter ran backwards between two snapshots.";
    Torn, "torn", "records not readable", Inexact, "A record could not be read consistently.";
    Late, "late", "window late", Inexact, "The reader published the beginning or the end of the window too late.";
    Unsettled, "unsettled", "CPUs not settled", Inexact, "A CPU stayed inside one of the ledger's programs while this window or the one before was closed; the times on that CPU may be wrong.";
    LostExit, "lost_exits", "exits lost", Inexact, "A record of an exited task did not arrive; its time went to the unnamed account.";
    NoLine, "no_line", "zombies not listed", Exact, "A zombie could not be listed; its time is in its exited group.";
    Offline, "offline_flush", "CPUs went offline", Exact, "A CPU went offline while a window was being closed.";
}

/// Number of errors of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ErrorCounts(pub [u64; ErrorKind::COUNT]);

impl ErrorCounts {
    /// Number of errors of this kind.
    pub fn get(&self, kind: ErrorKind) -> u64 {
        self.0[kind as usize]
    }

    /// Adds errors of one kind.
    pub fn add(&mut self, kind: ErrorKind, count: u64) {
        self.0[kind as usize] += count;
    }

    /// The increase since `earlier`. Error counters only grow.
    pub fn since(&self, earlier: &ErrorCounts) -> ErrorCounts {
        ErrorCounts(std::array::from_fn(|i| self.0[i].saturating_sub(earlier.0[i])))
    }

    /// Number of errors that make a window inexact.
    pub fn inexact(&self) -> u64 {
        ErrorKind::ALL.iter().filter(|k| k.inexact()).map(|&k| self.get(k)).sum()
    }

    /// The counts of the kinds that make a window inexact; other kinds are 0.
    pub fn only_inexact(&self) -> ErrorCounts {
        let mut counts = ErrorCounts::default();
        for (kind, n) in self.nonzero().filter(|(kind, _)| kind.inexact()) {
            counts.add(kind, n);
        }
        counts
    }

    /// Number of errors after which figures were repaired.
    pub fn repaired(&self) -> u64 {
        ErrorKind::ALL.iter().filter(|k| k.repaired()).map(|&k| self.get(k)).sum()
    }

    /// Number of tasks and groups without a place in a full table, whose time is unnamed.
    pub fn without_place(&self) -> u64 {
        ErrorKind::ALL.iter().filter(|k| k.leaves_no_place()).map(|&k| self.get(k)).sum()
    }

    /// The kinds that occurred, with their counts.
    pub fn nonzero(&self) -> impl Iterator<Item = (ErrorKind, u64)> + '_ {
        ErrorKind::ALL.iter().map(|&k| (k, self.get(k))).filter(|&(_, n)| n > 0)
    }
}
