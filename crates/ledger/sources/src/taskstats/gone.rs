//! Processes that exited, each by itself, as their records tell.

use super::exits::of_exit;
use super::listeners::Listeners;
use super::messages::Records;
use super::{permitted, Kernel};
use crate::cpu_list;
use crate::error::SourceError;
use exactop_model::{Comm, Counter};
use rustc_hash::FxHashMap;

/// Processes that are on their way out at once, at most: of those whose last record was lost nothing more comes.
const GOING: usize = 10_000;

/// A process that exited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone {
    pub pid: u32,
    pub ppid: u32,
    pub comm: Comm,
    /// Of the thread that lived longest.
    pub elapsed_ns: u64,
    /// As the kernel knew when it began to exit: up to a tick for each thread may be missing.
    pub run_ns: u64,
    /// The largest resident set since its last exec, KiB.
    pub resident_kib: Option<u64>,
}

/// What the records of its threads said so far.
#[derive(Clone, Copy, Debug)]
struct Going {
    gone: Gone,
    /// The sum over all its threads, of a process that had several.
    sum_ns: Option<u64>,
    is_over: bool,
}

/// Everyone who exits, on the whole machine.
pub(crate) struct Watch {
    listeners: Listeners,
    going: FxHashMap<u32, Going>,
}

impl Watch {
    /// Begins to listen. There is room for some thousand exits on each CPU until they are taken.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`], as of the source.
    pub fn open() -> Result<Watch, SourceError> {
        let mut kernel = Kernel::connect()?;
        let family = kernel.family()?;
        permitted(&mut kernel, family)?;
        let listeners = Listeners::unattended(&cpu_list::possible()?, family)?;
        Ok(Watch { listeners, going: FxHashMap::default() })
    }

    /// Who exited since they were taken last, and how many records were lost.
    pub fn take(&mut self) -> (Vec<Gone>, u64) {
        let taken = self.listeners.take();
        let gone = together(&mut self.going, taken.records);
        // Where no record came any more, nobody knows how many were lost: one at least.
        (gone, taken.lost.max(taken.overflows).saturating_add(taken.damaged))
    }
}

/// Adds records to those of the same processes, whichever CPU they came from first; those that are over.
fn together(going: &mut FxHashMap<u32, Going>, records: Vec<Records>) -> Vec<Gone> {
    for records in records {
        let Some(record) = records.thread else { continue };
        let pid = record.tgid.unwrap_or(record.pid);
        let (comm, ppid) = (record.comm, record.ppid);
        let new = Going {
            gone: Gone { pid, ppid, comm, elapsed_ns: 0, run_ns: 0, resident_kib: None },
            sum_ns: None,
            is_over: false,
        };
        let of = going.entry(pid).or_insert(new);
        if record.pid == pid {
            of.gone.comm = comm;
        }
        of.gone.elapsed_ns = of.gone.elapsed_ns.max(record.elapsed_ns);
        of.gone.resident_kib = of.gone.resident_kib.max(record.resident_kib);
        of.gone.run_ns += of_exit(&record).get(Counter::RunNs).unwrap_or(0);
        of.sum_ns = records.process.map(|(_, sum)| sum.run_ns).or(of.sum_ns);
        // Before version 12 nothing says who is the last; whoever leads mostly is.
        of.is_over |= record.last.unwrap_or(record.pid == pid);
    }
    let mut gone = Vec::new();
    going.retain(|_, of| {
        if of.is_over {
            gone.push(Gone { run_ns: of.sum_ns.unwrap_or(of.gone.run_ns), ..of.gone });
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
    use super::super::record::{Delays, Record};
    use super::*;

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
    fn a_process_is_all_its_threads_in_whatever_order_they_are_told() {
        let mut going = FxHashMap::default();
        let sum = Some((7, record(7, 7, true, 0, 50)));
        let last = Records { sequence: 0, thread: Some(record(8, 7, true, 90, 20)), process: sum };
        let said = vec![last, alone(record(7, 7, false, 100, 10)), alone(record(9, 9, true, 5, 4))];
        let mut gone = together(&mut going, said);
        gone.sort_by_key(|gone| gone.pid);
        let leader = Comm::new(b"leader");
        let of = |pid, elapsed_ns, run_ns| {
            let resident_kib = Some(elapsed_ns);
            Gone { pid, ppid: 1, comm: leader, elapsed_ns, run_ns, resident_kib }
        };
        assert_eq!(gone[1], of(9, 5, 4));
        assert_eq!(gone[0], of(7, 100, 50));
        assert!(going.is_empty());
    }

    #[test]
    fn who_is_never_over_is_let_go() {
        let mut going = FxHashMap::default();
        let said = (0..GOING as u32 + 1).map(|pid| alone(record(pid, pid, false, 1, 1)));
        assert!(together(&mut going, said.collect()).is_empty() && going.is_empty());
    }
}
