//! How good each figure of a snapshot is, and who gave it.

use crate::ledger::counters::Counter;

/// Which source filled a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// The BPF ledger: event by event, exact.
    Ledger,
    /// /proc, read by anyone: sampled by ticks, blind between two looks.
    Procfs,
    /// The kernel's own counters of who changed, in one read by a BPF task iterator.
    Snapshot,
    /// Generic netlink: a record a task when asked, and one from each that exits.
    Taskstats,
}

impl SourceKind {
    /// The name on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            SourceKind::Ledger => "ledger",
            SourceKind::Procfs => "procfs",
            SourceKind::Snapshot => "snapshot",
            SourceKind::Taskstats => "taskstats",
        }
    }

    /// Whether it hears of tasks that exit between two looks.
    pub const fn sees_exits(self) -> bool {
        matches!(self, SourceKind::Ledger | SourceKind::Taskstats)
    }

    /// Whether it tells which control group everyone is in.
    pub const fn sees_groups(self) -> bool {
        matches!(self, SourceKind::Ledger | SourceKind::Snapshot)
    }

    /// Whether the CPUs' accounts come from the tasks' own events, so that they close to the
    /// nanosecond; else from the ticks of /proc/stat.
    pub const fn keeps_books(self) -> bool {
        matches!(self, SourceKind::Ledger)
    }
}

/// How good a figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Quality {
    /// Measured at the events themselves.
    Exact,
    /// Sampled or rounded by the kernel's tick; marked `~`.
    Sampled,
    /// This source does not tell it.
    #[default]
    Missing,
}

/// Where a snapshot came from and what it is worth, field by field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// Who filled it.
    pub source: SourceKind,
    /// Why this source and not a better one: one line, if there is something to say.
    pub reason: Option<String>,
    /// The quality of each task counter.
    pub counters: [Quality; Counter::COUNT],
    /// Whether interrupt time is measured; if not it is part of the task or idle time it hit.
    pub irq: Quality,
    /// Whether steal is measured.
    pub steal: Quality,
    /// Whether the instant is seen at which a cgroup's quota is refilled; if not, a task counts as
    /// throttled until it runs.
    pub unthrottle: Quality,
    /// Why it is not, if the kernel said so.
    pub no_unthrottle: Option<String>,
    /// Whether the kernel counts the run time of a task, to hold ours against.
    pub audit_run: Quality,
    /// Whether it counts its waits for a CPU.
    pub audit_lat: Quality,
}

impl Provenance {
    /// A source that can give nothing yet; the source adds what it can.
    pub fn new(source: SourceKind) -> Provenance {
        Provenance {
            source,
            reason: None,
            counters: [Quality::Missing; Counter::COUNT],
            irq: Quality::Missing,
            steal: Quality::Missing,
            unthrottle: Quality::Missing,
            no_unthrottle: None,
            audit_run: Quality::Missing,
            audit_lat: Quality::Missing,
        }
    }

    /// A source that tells what the kernel counts itself: time in ticks or as of the last one,
    /// interrupts and steal in ticks.
    pub fn by_ticks(source: SourceKind) -> Provenance {
        let told = [Counter::RunNs, Counter::LatNs, Counter::UtimeNs, Counter::StimeNs];
        let (irq, steal) = (Quality::Sampled, Quality::Sampled);
        Provenance { irq, steal, ..Provenance::new(source) }.with(Quality::Sampled, &told)
    }

    /// With some counters of this quality.
    pub fn with(mut self, quality: Quality, counters: &[Counter]) -> Provenance {
        for &counter in counters {
            self.counters[counter as usize] = quality;
        }
        self
    }

    /// Adds why this source and not a better one, before what it has to say itself.
    pub fn because(&mut self, reason: &str) {
        let reason = crate::text::escape::harmless(reason);
        self.reason = Some(match self.reason.take() {
            Some(own) => format!("{reason}; {own}"),
            None => reason,
        });
    }

    /// The quality of one counter.
    pub fn of(&self, counter: Counter) -> Quality {
        self.counters[counter as usize]
    }
}
