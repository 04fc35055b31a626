//! The source *taskstats*: the kernel's task statistics by generic netlink, for CAP_NET_ADMIN
//! (Documentation/accounting/taskstats.rst).
//!
//! The list of tasks comes from /proc. One request for each process or thread then gets its record.
//! So a read costs as much as with procfs, plus the requests. In return, CPU time is in
//! nanoseconds, a process's run-queue wait is the sum over its threads, and every task that exits
//! leaves a record. A task that was born and exited between two reads therefore has a name and a
//! time.
//!
//! What a row holds:
//! - CPU time is `sum_exec_runtime` as of the last tick or switch: a running task is up to a tick
//!   behind;
//! - user and system time come from /proc/PID/stat, in ticks, because a process's record sums only
//!   its living threads;
//! - an exit record is made when the task begins to exit. The CPU time of the exit itself is
//!   unnamed, and so is the time since the last tick or switch. A task that never gave up the CPU
//!   is an exception: its CPU time is its life less its run-queue wait;
//! - the delays are `-` while the sysctl kernel.task_delayacct is 0, and 0 for tasks that were born
//!   before it was set.

mod exits;
#[cfg(feature = "bpf")]
mod gone;
mod identity;
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
use crate::procfs::Procfs;
use crate::source::{Request, Source};
use exactop_model::{
    Counter, ErrorCounts, ErrorKind, Needs, Provenance, Quality, Snapshot, SourceKind, TaskSample,
};
use exits::Exits;
#[cfg(feature = "bpf")]
pub(crate) use gone::{ExitedProcess, Watch};
use identity::Instant;
#[cfg(all(test, feature = "bpf"))]
pub(crate) use identity::{ExitWindow, Instant as ExitInstant};
use listeners::{refused, Listeners};
use messages::{answer, Answer, Ask};
pub use record::{Delays, Malformed, Record};
use socket::Kernel;
use std::path::Path;

/// Number of requests sent at once; their answers fit into the socket's buffer.
const BATCH: usize = 32;
/// This file contains 1 while the kernel counts delays
/// (Documentation/accounting/delay-accounting.rst).
const DELAY_ACCOUNTING: &str = "/proc/sys/kernel/task_delayacct";

/// The source that requests task statistics.
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

    /// Adds the reason for this source, in one line.
    pub fn because(mut self, reason: &str) -> Self {
        self.provenance.because(reason);
        self
    }

    /// Replaces figures from /proc by those of records, with several requests at a time.
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
                let bytes = bytes.map_err(|error| SourceError::Kernel {
                    what: "cannot receive from taskstats",
                    error,
                })?;
                if !enter(task, answer(bytes), delays) {
                    self.errors.add(ErrorKind::Torn, 1);
                }
            }
        }
        Ok(())
    }
}

/// Counters that are better in a record than in /proc, for threads and processes.
const ALWAYS: [Counter; 3] = [Counter::RunNs, Counter::LatNs, Counter::Dispatches];
/// Counters that are better only in a thread's record.
const OF_THREAD: [Counter; 4] =
    [Counter::Vcx, Counter::Icx, Counter::MinorFaults, Counter::MajorFaults];

/// Enters one answer. Returns false if it is invalid.
fn enter(task: &mut TaskSample, answer: Answer, delays: bool) -> bool {
    let record = match answer {
        Answer::Records(records) => records.process.map(|(_, sum)| sum).or(records.thread),
        // The task has exited since /proc was read; the figures from /proc stay.
        Answer::Refused(libc::ESRCH) => return true,
        Answer::Refused(_) | Answer::Damaged => None,
    };
    let Some(record) = record else { return false };
    let counters = &mut task.counters;
    let from_record = exits::of_record(&record);
    // Sums over living threads only would run backwards when a thread exits.
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
    /// The snapshot's instant is that of reading the CPUs; the tasks follow during the read.
    ///
    /// # Errors
    /// [`SourceError::Read`] for /proc, [`SourceError::Kernel`] for netlink.
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        let threads = request.needs.has(Needs::THREADS);
        let delays = counts_delays();
        if self.provenance.quality(Counter::BlkioDelayNs) == Quality::Missing && delays {
            self.provenance = provenance(delays);
        }
        // A record has the run-queue wait, so schedstat is not read.
        let needs = request.needs.without(Needs::SCHEDSTAT);
        let mut snapshot = self.procfs.snapshot(&Request { needs, ..*request })?;
        self.overlay(&mut snapshot.tasks, delays)?;
        let taken = self.listeners.take();
        self.errors.add(ErrorKind::LostExit, taken.lost.max(u64::from(taken.overflows > 0)));
        self.errors.add(ErrorKind::Torn, taken.damaged);
        self.exits.advance(taken.records, &snapshot.tasks, threads, Instant::read());
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

/// Checks the right by a request for this process's own record.
fn permitted(kernel: &mut Kernel, family: u16) -> Result<(), SourceError> {
    kernel.ask(Ask::Process(std::process::id()), family)?;
    let bytes = kernel
        .receive()
        .map_err(|error| SourceError::Kernel { what: "cannot receive from taskstats", error })?;
    match answer(bytes) {
        Answer::Records(_) => Ok(()),
        Answer::Refused(errno) => Err(refused(errno)),
        Answer::Damaged => Err(SourceError::Unavailable {
            what: "cannot parse the kernel's taskstats record".into(),
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
        // The kernel counts them only while the sysctl is on.
        return provenance.with(Quality::Sampled, &Counter::DELAYS);
    }
    let reason = "delays are not counted: as root, sysctl kernel.task_delayacct=1, for tasks born \
                  from then on";
    Provenance { reason: Some(reason.into()), ..provenance }
}
