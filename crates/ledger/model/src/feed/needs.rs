//! What a source reads beside the accounts: the union over the columns on the screen.

use crate::on_demand::{Panel, Subject};
use std::ops::BitOr;

/// A set of things to read. A source reads nothing that is not in the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Needs(u32);

impl Needs {
    /// Nothing beyond the snapshot.
    pub const NONE: Needs = Needs(0);
    /// /proc/PID/stat: TIME+, VIRT, start time.
    pub const STAT: Needs = Needs(1);
    /// /proc/PID/statm: RES, SHR.
    pub const STATM: Needs = Needs(2);
    /// /proc/PID/cmdline.
    pub const CMDLINE: Needs = Needs(4);
    /// The user's name for a uid.
    pub const USER: Needs = Needs(8);
    /// /proc/PID/cgroup.
    pub const CGROUP: Needs = Needs(16);
    /// /proc/PID/schedstat: run-queue wait in the procfs source.
    pub const SCHEDSTAT: Needs = Needs(32);
    /// /proc/PID/status: context switches and uid in the procfs source.
    pub const STATUS: Needs = Needs(64);
    /// One row for each thread instead of each process.
    pub const THREADS: Needs = Needs(128);
    /// Which CPUs the watched process ran on.
    pub const CPU_SHARES: Needs = Needs(256);

    /// User time, system time and system calls, measured at the system calls.
    pub const SPLIT: Needs = Needs(512);

    /// Interrupt time, measured at the entry and exit of interrupts.
    pub const INTERRUPTS: Needs = Needs(1024);

    /// Values of the whole machine: memory, load, users, the kernel's tick counts.
    pub const MACHINE: Needs = Needs(2048);

    /// The containers, pods and units that control groups belong to.
    pub const NAMES: Needs = Needs(4096);

    /// The machine's pressure and disk I/O.
    pub const PRESSURE: Needs = Needs(1 << 20);
    /// /proc/PID/io, which is readable only with ptrace rights on the process.
    pub const DISK: Needs = Needs(1 << 21);

    /// Windows of a subject of the watched process. Empty for subjects that the process's page
    /// always shows.
    pub const fn subject(subject: Subject) -> Needs {
        match subject.panel() {
            Some(Panel::Always) => Needs::NONE,
            _ => Needs(1 << (22 + subject as u32)),
        }
    }

    /// What a panel of the watched process needs.
    pub fn panel(panel: Panel) -> Needs {
        let shown = Subject::ALL.iter().filter(|subject| subject.panel() == Some(panel));
        shown.fold(Needs::NONE, |needs, &subject| needs | Needs::subject(subject))
    }

    /// The part that exited tasks have: the names of their user and of their control group.
    pub fn of_exited(self) -> Needs {
        let names = [Needs::USER, Needs::NAMES].into_iter().filter(|&name| self.has(name));
        names.fold(Needs::NONE, Needs::with)
    }

    /// True if all of `other` is in this set.
    pub const fn has(self, other: Needs) -> bool {
        self.0 & other.0 == other.0
    }

    /// This set without all of `other`.
    pub const fn without(self, other: Needs) -> Needs {
        Needs(self.0 & !other.0)
    }

    /// Both sets together, as a constant.
    pub const fn with(self, other: Needs) -> Needs {
        Needs(self.0 | other.0)
    }
}

impl BitOr for Needs {
    type Output = Needs;
    fn bitor(self, other: Needs) -> Needs {
        self.with(other)
    }
}
