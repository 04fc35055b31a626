//! Which process an exit record belongs to. The kernel reuses PIDs, in a fork storm within seconds,
//! so one window may have the records of several processes with the same PID.

use super::messages::Records;
use super::record::Record;
use crate::procfs::ticks::ClockSample;

/// Largest difference between an instant in /proc or the ledger and one computed from a record, ns:
/// two clocks, a tick, and the time from the kernel's look at its clock to the end of the message.
pub const SLACK_NS: u64 = 50_000_000;

/// End of a window on two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instant {
    /// CLOCK_MONOTONIC, ns.
    pub monotonic_ns: u64,
    /// CLOCK_BOOTTIME, ns: start times are on it.
    pub boottime_ns: u64,
}

/// The time in which a record came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExitWindow {
    /// The call before.
    pub from: Instant,
    /// The call that took the record.
    pub to: Instant,
}

impl Instant {
    /// Now.
    pub fn read() -> Instant {
        let now = ClockSample::read();
        let monotonic_ns = now.monotonic_ns;
        Instant { monotonic_ns, boottime_ns: monotonic_ns + now.suspended_ns }
    }
}

impl ExitWindow {
    /// True if a process that began at `start_ns` (CLOCK_BOOTTIME) can have the record of an exit
    /// after `elapsed_ns`. A record does not count the time in which the machine was suspended, so
    /// the sum of the two may be too early by that time.
    pub fn has_end_of(&self, start_ns: u64, elapsed_ns: u64) -> bool {
        let end_ns = start_ns.saturating_add(elapsed_ns);
        let latest_ns = self.to.boottime_ns.saturating_add(SLACK_NS);
        end_ns.saturating_add(SLACK_NS) >= self.from.monotonic_ns && end_ns <= latest_ns
    }
}

/// True if the process of this record never had another thread: it is the last one, and the kernel
/// sent no sum over several (`taskstats_exit` in kernel/taskstats.c). Before version 12 records do
/// not mark the last thread.
pub fn is_of_only_thread(records: &Records) -> bool {
    let Records { thread, process, .. } = records;
    let is_last = |record: &Record| {
        record.last == Some(true) && record.tgid.is_none_or(|tgid| tgid == record.pid)
    };
    process.is_none() && thread.as_ref().is_some_and(is_last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_ends_in_the_window_of_its_record() {
        const S: u64 = 1_000_000_000;
        let at = |monotonic, suspended| Instant {
            monotonic_ns: monotonic * S,
            boottime_ns: (monotonic + suspended) * S,
        };
        let window = ExitWindow { from: at(10, 0), to: at(11, 0) };
        assert!(window.has_end_of(S, 9 * S) && window.has_end_of(S, 10 * S));
        assert!(!window.has_end_of(S, 8 * S), "an earlier process with its PID");
        assert!(!window.has_end_of(S, 11 * S), "a later process with its PID");
        // The machine was suspended for 100 s, before the start or during the life.
        let window = ExitWindow { from: at(10, 100), to: at(11, 100) };
        assert!(window.has_end_of(101 * S, 9 * S) && window.has_end_of(S, 9 * S));
    }
}
