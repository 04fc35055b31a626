//! The source of a snapshot and the quality of each figure.

use crate::ledger::counters::Counter;

/// The source of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum SourceKind {
    /// The BPF ledger: exact, from every scheduler event.
    Ledger,
    /// /proc, readable by every user: sampled by ticks, blind between two reads.
    Procfs,
    /// The kernel's own counters of changed tasks, read at once by a BPF task iterator.
    Snapshot,
    /// Generic netlink: one record for each task on request, and one from each task that exits.
    Taskstats,
}

impl SourceKind {
    /// Name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// True if it sees tasks that exit between two reads.
    pub const fn sees_exits(self) -> bool {
        matches!(self, SourceKind::Ledger | SourceKind::Taskstats)
    }

    /// A count or a time of what exited; `None` if the source cannot know it. Joined windows have
    /// what ended between them, from every source.
    pub fn exited(self, seen: u64) -> Option<u64> {
        (self.sees_exits() || seen > 0).then_some(seen)
    }

    /// True if it gives the control group of each task.
    pub const fn sees_groups(self) -> bool {
        matches!(self, SourceKind::Ledger | SourceKind::Snapshot)
    }

    /// True if the CPUs' accounts come from the tasks' events, so that they close to the
    /// nanosecond; else they come from the ticks of /proc/stat.
    pub const fn keeps_books(self) -> bool {
        matches!(self, SourceKind::Ledger)
    }
}

/// Quality of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Quality {
    /// Measured at the events.
    Exact,
    /// Sampled or rounded by the kernel's tick; shown with `~`.
    Sampled,
    /// The source does not measure it.
    #[default]
    Missing,
}

/// Detail that a daemon drops at its memory bound; true: dropped. All sums stay exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Degraded {
    /// Past windows that wait for a slow reader.
    pub history: bool,
    /// Rows of processes that exited.
    pub brief: bool,
    /// Rows of threads.
    pub threads: bool,
}

impl Degraded {
    /// Every detail: its name in metrics, JSON and recordings, and true if the daemon dropped it.
    pub const fn details(self) -> [(&'static str, bool); 3] {
        [("history", self.history), ("brief", self.brief), ("threads", self.threads)]
    }

    /// Names of the details that the daemon dropped.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.details().into_iter().filter_map(|(name, is_given_up)| is_given_up.then_some(name))
    }

    /// The details of these names; names that this version does not know are ignored.
    pub fn of_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Degraded {
        names.into_iter().fold(Degraded::default(), |degraded, name| match name {
            "history" => Degraded { history: true, ..degraded },
            "brief" => Degraded { brief: true, ..degraded },
            "threads" => Degraded { threads: true, ..degraded },
            _ => degraded,
        })
    }

    /// The details that are missing in one of the two; unknown if they are unknown in one.
    #[must_use]
    pub fn in_either(one: Option<Degraded>, other: Option<Degraded>) -> Option<Degraded> {
        one.zip(other).map(|(one, other)| one.or(other))
    }

    /// The details that are missing in one of the two.
    #[must_use]
    pub const fn or(self, other: Degraded) -> Degraded {
        Degraded {
            history: self.history || other.history,
            brief: self.brief || other.brief,
            threads: self.threads || other.threads,
        }
    }
}

/// The source of a snapshot and the quality of each field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// The source.
    pub source: SourceKind,
    /// Why the session uses this source and not a better one, in one line.
    pub reason: Option<String>,
    /// The quality of each task counter.
    pub counters: [Quality; Counter::COUNT],
    /// Interrupt time; if missing, it is part of the task or idle time that it interrupted.
    pub irq: Quality,
    /// Steal.
    pub steal: Quality,
    /// Refill of a cgroup's quota; if missing, a task counts as throttled until it runs.
    pub unthrottle: Quality,
    /// Why the refill is not measured, if the kernel gave a reason.
    pub no_unthrottle: Option<String>,
    /// The kernel's count of a task's run time, for the audit.
    pub audit_run: Quality,
    /// The kernel's count of a task's waits for a CPU, for the audit.
    pub audit_lat: Quality,
    /// Detail that the daemon it comes from dropped. `None`: unknown, because the recording or the
    /// daemon is of a version that does not state it.
    pub degraded: Option<Degraded>,
}

impl Provenance {
    /// A source without figures; add them with [`Provenance::with`].
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
            degraded: Some(Degraded::default()),
        }
    }

    /// A source of the kernel's own counts: times in ticks or as of the last tick, interrupts and
    /// steal in ticks.
    pub fn by_ticks(source: SourceKind) -> Provenance {
        let told = [Counter::RunNs, Counter::LatNs, Counter::UtimeNs, Counter::StimeNs];
        let (irq, steal) = (Quality::Sampled, Quality::Sampled);
        Provenance { irq, steal, ..Provenance::new(source) }.with(Quality::Sampled, &told)
    }

    /// Sets the quality of some counters.
    pub fn with(mut self, quality: Quality, counters: &[Counter]) -> Provenance {
        for &counter in counters {
            self.counters[counter as usize] = quality;
        }
        self
    }

    /// Says that interrupts were not measured all the time.
    pub(crate) fn miss_interrupts(&mut self) {
        self.irq = Quality::Missing;
        self.counters[Counter::IrqNs as usize] = Quality::Missing;
    }

    /// Adds the reason for this source before the source's own reason.
    pub fn because(&mut self, reason: &str) {
        let reason = crate::text::escape::harmless(reason);
        self.reason = Some(match self.reason.take() {
            Some(own) => format!("{reason}; {own}"),
            None => reason,
        });
    }

    /// The quality of one counter.
    pub fn quality(&self, counter: Counter) -> Quality {
        self.counters[counter as usize]
    }
}
