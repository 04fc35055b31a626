//! Single exited processes, from their exit records.

use super::exits::of_exit;
use super::identity::{is_of_only_thread, ExitWindow, Instant};
use super::listeners::Listeners;
use super::messages::Records;
use super::record::Record;
use super::{permitted, Kernel};
use crate::cpu_list;
use crate::error::SourceError;
use exactop_model::{Comm, Counter};
use rustc_hash::FxHashMap;

/// Most exiting processes to keep. A process whose last record was lost never completes.
const GOING: usize = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExitedProcess {
    pub pid: u32,
    pub ppid: u32,
    pub comm: Comm,
    /// Life of the thread that lived longest, ns.
    pub elapsed_ns: u64,
    /// CPU time at the begin of the exit, ns; up to a tick for each thread may be missing.
    pub run_ns: u64,
    /// Largest resident set since its last exec, KiB.
    pub resident_kib: Option<u64>,
    /// When its record came.
    pub within: ExitWindow,
}

impl ExitedProcess {
    /// True if a process that began then (CLOCK_BOOTTIME, ns) can be this one.
    pub fn can_have_begun_at(&self, start_ns: u64) -> bool {
        self.within.has_end_of(start_ns, self.elapsed_ns)
    }
}

/// Records of its threads so far.
#[derive(Clone, Copy, Debug)]
struct ExitingProcess {
    gone: ExitedProcess,
    /// Sum over all threads of a process with several threads, ns.
    sum_ns: Option<u64>,
    is_over: bool,
}

impl ExitingProcess {
    /// Adds the record of a thread.
    fn add(&mut self, record: &Record) {
        let gone = &mut self.gone;
        if record.pid == gone.pid {
            gone.comm = record.comm;
        }
        gone.elapsed_ns = gone.elapsed_ns.max(record.elapsed_ns);
        gone.resident_kib = gone.resident_kib.max(record.resident_kib);
        gone.run_ns += of_exit(record).get(Counter::RunNs).unwrap_or(0);
    }
}

/// Listens to all exits on the machine.
pub(crate) struct Watch {
    listeners: Listeners,
    going: FxHashMap<u32, ExitingProcess>,
    before: Instant,
}

impl Watch {
    /// Begins to listen. The buffers hold some thousand exits for each CPU.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`], as for the source.
    pub fn open() -> Result<Watch, SourceError> {
        let mut kernel = Kernel::connect()?;
        let family = kernel.family()?;
        permitted(&mut kernel, family)?;
        let listeners = Listeners::unattended(&cpu_list::possible()?, family)?;
        Ok(Watch { listeners, going: FxHashMap::default(), before: Instant::read() })
    }

    /// Takes the processes that exited since the last call, and the number of lost records.
    pub fn take(&mut self) -> (Vec<ExitedProcess>, u64) {
        let taken = self.listeners.take();
        let now = Instant::read();
        let within = ExitWindow { from: std::mem::replace(&mut self.before, now), to: now };
        let gone = together(&mut self.going, taken.records, within);
        // If records stopped, the number of lost ones is unknown, but at least one.
        (gone, taken.lost.max(taken.overflows).saturating_add(taken.damaged))
    }
}

/// Adds records to their processes, in any order of CPUs, and returns the complete processes.
fn together(
    going: &mut FxHashMap<u32, ExitingProcess>,
    records: Vec<Records>,
    within: ExitWindow,
) -> Vec<ExitedProcess> {
    let mut gone = Vec::new();
    for records in records {
        let is_whole = is_of_only_thread(&records);
        let Some(record) = records.thread else { continue };
        let pid = record.tgid.unwrap_or(record.pid);
        let (comm, ppid) = (record.comm, record.ppid);
        let (elapsed_ns, run_ns, resident_kib) = (0, 0, None);
        let new = ExitingProcess {
            gone: ExitedProcess { pid, ppid, comm, elapsed_ns, run_ns, resident_kib, within },
            sum_ns: None,
            is_over: false,
        };
        // Records kept under its PID are of another process.
        if is_whole {
            let mut alone = new;
            alone.add(&record);
            gone.push(alone.gone);
            continue;
        }
        let of = going.entry(pid).or_insert(new);
        of.add(&record);
        of.sum_ns = records.process.map(|(_, sum)| sum.run_ns).or(of.sum_ns);
        // Before version 12 records do not mark the last thread; usually it is the leader.
        of.is_over |= record.last.unwrap_or(record.pid == pid);
    }
    going.retain(|_, of| {
        if of.is_over {
            let run_ns = of.sum_ns.unwrap_or(of.gone.run_ns);
            gone.push(ExitedProcess { run_ns, within, ..of.gone });
        }
        !of.is_over
    });
    if going.len() > GOING {
        going.clear();
    }
    gone
}

#[cfg(test)]
mod tests {
    use super::super::record::Delays;
    use super::*;

    const START: Instant = Instant { monotonic_ns: 0, boottime_ns: 0 };
    const NOW: ExitWindow = ExitWindow { from: START, to: START };

    fn record(pid: u32, tgid: u32, last: bool, elapsed_ns: u64, run_ns: u64) -> Record {
        Record {
            version: 12,
            exit_code: 0,
            last: Some(last),
            nice: 0,
            policy: 0,
            dispatches: 1,
            run_ns,
            user_ns: 0,
            system_ns: 0,
            elapsed_ns,
            comm: Comm::new(if pid == tgid { b"leader" } else { b"worker" }),
            uid: 0,
            pid,
            ppid: 1,
            tgid: Some(tgid),
            faults: (0, 0),
            resident_kib: Some(elapsed_ns),
            switches: Some((1, 0)),
            delays: Delays::default(),
        }
    }

    fn alone(record: Record) -> Records {
        Records { sequence: 0, thread: Some(record), process: None }
    }

    #[test]
    fn a_process_sums_its_threads_in_any_order_of_records() {
        let mut going = FxHashMap::default();
        let sum = Some((7, record(7, 7, true, 0, 50)));
        let last = Records { sequence: 0, thread: Some(record(8, 7, true, 90, 20)), process: sum };
        let said = vec![last, alone(record(7, 7, false, 100, 10)), alone(record(9, 9, true, 5, 4))];
        let mut gone = together(&mut going, said, NOW);
        gone.sort_by_key(|gone| gone.pid);
        let leader = Comm::new(b"leader");
        let of = |pid, elapsed_ns, run_ns| {
            let (comm, resident_kib) = (leader, Some(elapsed_ns));
            ExitedProcess { pid, ppid: 1, comm, elapsed_ns, run_ns, resident_kib, within: NOW }
        };
        assert_eq!(gone[1], of(9, 5, 4));
        assert_eq!(gone[0], of(7, 100, 50));
        assert!(going.is_empty());
    }

    #[test]
    fn a_reused_pid_mixes_no_two_processes() {
        let mut going = FxHashMap::default();
        // The last record of this one was lost.
        assert!(together(&mut going, vec![alone(record(7, 7, false, 900, 9))], NOW).is_empty());
        let said = vec![alone(record(7, 7, true, 5, 4)), alone(record(7, 7, true, 3, 2))];
        let gone = together(&mut going, said, NOW);
        let figures: Vec<_> = gone.iter().map(|gone| (gone.elapsed_ns, gone.run_ns)).collect();
        assert_eq!(figures, [(5, 4), (3, 2)]);
    }

    #[test]
    fn a_process_without_a_last_record_is_dropped() {
        let mut going = FxHashMap::default();
        let said = (0..GOING as u32 + 1).map(|pid| alone(record(pid, pid, false, 1, 1)));
        assert!(together(&mut going, said.collect(), NOW).is_empty() && going.is_empty());
    }
}
