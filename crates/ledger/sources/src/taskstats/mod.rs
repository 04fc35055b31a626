//! Everyone's time as the kernel's task statistics tell it: generic netlink, for CAP_NET_ADMIN
//! (Documentation/accounting/taskstats.rst).
//!
//! Who is there comes from /proc; one request a process, or a thread, then fetches its record, so a
//! look costs what procfs costs and the requests. In return CPU time is counted in nanoseconds, a
//! process's run-queue wait is the sum over its threads, and every task that exits leaves a record,
//! so that what lived and died between two looks has a name and a time.
//!
//! What a row holds:
//! - CPU time is `sum_exec_runtime` as of the last tick or switch: what runs at the moment is up to
//!   a tick behind;
//! - user and system time are those of /proc/PID/stat, in ticks: a process's record sums only its
//!   living threads;
//! - an exited task's record is cut when it begins to exit: what its own end costs is unnamed, and
//!   so is what it ran since its last tick or switch, unless it never gave up the CPU: then its life
//!   less its run-queue wait is its CPU time;
//! - the delays are `-` while the sysctl kernel.task_delayacct is 0, and 0 for tasks that were born
//!   before it was set.

mod exits;
#[cfg(feature = "bpf")]
mod gone;
mod listeners;
mod messages;
mod record;
mod socket;

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;

use crate::cpu_list;
use crate::error::SourceError;
use crate::procfs::ticks::Now;
use crate::procfs::Procfs;
use crate::source::{Request, Source};
use exactop_model::{
    Counter, ErrorCounts, ErrorKind, Needs, Provenance, Quality, Snapshot, SourceKind, TaskSample,
};
use exits::{Exits, Instant};
#[cfg(feature = "bpf")]
pub(crate) use gone::{Gone, Watch};
use listeners::{refused, Listeners};
use messages::{answer, Answer, Ask};
pub use record::{Delays, Malformed, Record};
use socket::Kernel;
use std::path::Path;

/// Requests that are on their way at once: their answers fit into the socket's buffer.
const BATCH: usize = 32;
/// 1 while the kernel counts delays (Documentation/accounting/delay-accounting.rst).
const DELAY_ACCOUNTING: &str = "/proc/sys/kernel/task_delayacct";

/// The source that asks taskstats.
pub struct Taskstats {
    procfs: Procfs,
    kernel: Kernel,
    family: u16,
    listeners: Listeners,
    exits: Exits,
    errors: ErrorCounts,
    provenance: Provenance,
}

impl Taskstats {
    /// Opens the source and begins to listen for exits.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] without CAP_NET_ADMIN, without CONFIG_TASKSTATS, or outside of
    /// the initial PID and user namespace.
    pub fn open() -> Result<Taskstats, SourceError> {
        let mut kernel = Kernel::connect()?;
        let family = kernel.family()?;
        permitted(&mut kernel, family)?;
        let listeners = Listeners::open(&cpu_list::possible()?, family)?;
        Ok(Taskstats {
            procfs: Procfs::open(Path::new("/proc"))?,
            kernel,
            family,
            listeners,
            exits: Exits::default(),
            errors: ErrorCounts::default(),
            provenance: provenance(counts_delays()),
        })
    }

    /// Says why this source and not a better one, in one line.
    pub fn because(mut self, reason: &str) -> Self {
        self.provenance.because(reason);
        self
    }

    /// Puts the records over what /proc said, many requests at a time.
    fn overlay(&mut self, tasks: &mut [TaskSample], delays: bool) -> Result<(), SourceError> {
        for batch in tasks.chunks_mut(BATCH) {
            for task in batch.iter() {
                let ask = match task.threads {
                    Some(_) => Ask::Process(task.key.tgid),
                    None => Ask::Thread(task.key.tid),
                };
                self.kernel.ask(ask, self.family)?;
            }
            for task in batch.iter_mut() {
                let bytes = self.kernel.receive();
                let bytes =
                    bytes.map_err(|error| SourceError::Kernel { what: "taskstats", error })?;
                if !enter(task, answer(bytes), delays) {
                    self.errors.add(ErrorKind::Torn, 1);
                }
            }
        }
        Ok(())
    }
}

/// What a record knows better than /proc, of a process too.
const ALWAYS: [Counter; 3] = [Counter::RunNs, Counter::LatNs, Counter::Dispatches];
/// What only a thread's record does.
const OF_THREAD: [Counter; 4] =
    [Counter::Vcx, Counter::Icx, Counter::MinorFaults, Counter::MajorFaults];

/// Enters one answer; `false`: it made no sense.
fn enter(task: &mut TaskSample, answer: Answer, delays: bool) -> bool {
    let record = match answer {
        Answer::Records(records) => records.process.map(|(_, sum)| sum).or(records.thread),
        // It is gone since /proc was read: what that said stands.
        Answer::Refused(libc::ESRCH) => return true,
        Answer::Refused(_) | Answer::Damaged => None,
    };
    let Some(record) = record else { return false };
    let counters = &mut task.counters;
    let from_record = exits::of_record(&record);
    // Sums over living threads only would run backwards when one exits.
    let of_thread: &[Counter] = if task.threads.is_none() { &OF_THREAD } else { &[] };
    for &counter in ALWAYS.iter().chain(of_thread) {
        if let Some(value) = from_record.get(counter) {
            counters.set(counter, value);
        }
    }
    if delays {
        exits::set_delays(counters, &record);
    }
    true
}

impl Source for Taskstats {
    /// The instant is the one at which the CPUs were read; the tasks follow within the time the
    /// look takes.
    ///
    /// # Errors
    /// [`SourceError::Read`] for /proc, [`SourceError::Kernel`] for netlink.
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        let threads = request.needs.has(Needs::THREADS);
        let delays = counts_delays();
        if self.provenance.of(Counter::BlkioDelayNs) == Quality::Missing && delays {
            self.provenance = provenance(delays);
        }
        // A record has the run-queue wait; of the rest only what rows need.
        let needs = request.needs.without(Needs::SCHEDSTAT);
        let mut snapshot = self.procfs.snapshot(&Request { needs, ..*request })?;
        self.overlay(&mut snapshot.tasks, delays)?;
        let taken = self.listeners.take();
        self.errors.add(ErrorKind::LostExit, taken.lost.max(u64::from(taken.overflows > 0)));
        self.errors.add(ErrorKind::Torn, taken.damaged);
        let now = Now::read();
        let now = Instant {
            monotonic_ns: now.monotonic_ns,
            boottime_ns: now.monotonic_ns + now.suspended_ns,
        };
        self.exits.advance(taken.records, &snapshot.tasks, threads, now);
        snapshot.exited = self.exits.samples();
        for kind in ErrorKind::ALL {
            snapshot.errors.add(*kind, self.errors.get(*kind));
        }
        snapshot.provenance = self.provenance.clone();
        Ok(snapshot)
    }

    fn provenance(&self) -> &Provenance {
        &self.provenance
    }
}

/// Asks for this process's own record.
fn permitted(kernel: &mut Kernel, family: u16) -> Result<(), SourceError> {
    kernel.ask(Ask::Process(std::process::id()), family)?;
    let bytes =
        kernel.receive().map_err(|error| SourceError::Kernel { what: "taskstats", error })?;
    match answer(bytes) {
        Answer::Records(_) => Ok(()),
        Answer::Refused(errno) => Err(refused(errno)),
        Answer::Damaged => Err(SourceError::Unavailable {
            what: "the kernel's taskstats record makes no sense".into(),
            advice: "use another source".into(),
        }),
    }
}

fn counts_delays() -> bool {
    std::fs::read_to_string(DELAY_ACCOUNTING).is_ok_and(|text| text.trim() == "1")
}

fn provenance(delays: bool) -> Provenance {
    let sampled = [Counter::Vcx, Counter::Icx, Counter::Dispatches];
    let provenance = Provenance::by_ticks(SourceKind::Taskstats).with(Quality::Sampled, &sampled);
    if delays {
        // Counted only while the sysctl is on.
        return provenance.with(Quality::Sampled, &Counter::DELAYS);
    }
    let reason = "delays are not counted: as root, sysctl kernel.task_delayacct=1, for tasks born \
                  from then on";
    Provenance { reason: Some(reason.into()), ..provenance }
}
