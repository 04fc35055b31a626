//! Makes the accounts of the CPUs from the ticks of /proc/stat.

use super::files::KeptFile;
use super::kernel_stat::KernelStat;
use super::ticks::{ClockSample, Ticks};
use crate::error::SourceError;
use exactop_model::ledger::system::StatTicks;
use exactop_model::{CpuSample, ErrorCounts, ErrorKind, Provenance, Snapshot};
use std::path::Path;

/// /proc/stat, kept open, and the clock.
pub(crate) struct CpuReader {
    stat: KeptFile,
    accounts: CpuAccounts,
    ticks: Ticks,
    pub(super) clock: Box<dyn FnMut() -> ClockSample + Send>,
}

impl CpuReader {
    /// Opens the reader of a /proc.
    ///
    /// # Errors
    /// [`SourceError::Read`] if its `stat` cannot be opened.
    pub fn open(root: &Path) -> Result<CpuReader, SourceError> {
        Ok(CpuReader {
            stat: KeptFile::open(root.join("stat"))?,
            accounts: CpuAccounts::default(),
            ticks: Ticks::of_this_system(),
            clock: Box::new(ClockSample::read),
        })
    }

    /// Begins a snapshot: its instant and the CPUs as of then, without tasks. Counts figures that
    /// ran backwards.
    ///
    /// # Errors
    /// [`SourceError::Read`] and [`SourceError::Parse`].
    pub fn begin(
        &mut self,
        provenance: &Provenance,
        errors: &mut ErrorCounts,
    ) -> Result<(Snapshot, ClockSample), SourceError> {
        let now = (self.clock)();
        let (accounts, ticks) = (&mut self.accounts, self.ticks);
        let (cpus, back, born) = self.stat.read(KernelStat::EXPECTED, |text| {
            let stat = KernelStat::parse(text)?;
            let (cpus, back) = accounts.advance(&stat.cpus, ticks)?;
            Some((cpus, back, stat.forks))
        })?;
        errors.add(ErrorKind::Backwards, back);
        let snapshot = Snapshot {
            cpus,
            born,
            errors: *errors,
            ..Snapshot::empty(provenance.clone(), now.monotonic_ns)
        };
        Ok((snapshot, now))
    }
}

/// The CPUs as of the snapshot before.
#[derive(Default)]
pub(super) struct CpuAccounts {
    last: Vec<CpuSample>,
}

impl CpuAccounts {
    /// The accounts now; `None` if a count is implausible. The second value is the number of
    /// figures that ran backwards.
    ///
    /// The kernel may take back idle time. It computes idle and iowait of a CPU from its present
    /// sleep and from the tasks that wait for I/O (proc_stat(5)), so each may run back a little.
    /// Their sum hardly does, so they are one account. A figure that ran backwards stays where it
    /// was until the kernel catches up.
    pub fn advance(
        &mut self,
        cpus: &[(u32, StatTicks)],
        ticks: Ticks,
    ) -> Option<(Vec<CpuSample>, u64)> {
        let mut steps_back = 0;
        let mut now = Vec::with_capacity(cpus.len());
        for &(cpu, counts) in cpus {
            let mut sample = sample(cpu, &counts, ticks)?;
            if let Some(last) = self.last.iter().find(|last| last.cpu == cpu) {
                steps_back += hold(&mut sample, last);
            }
            now.push(sample);
        }
        self.last.clone_from(&now);
        Some((now, steps_back))
    }
}

fn sample(cpu: u32, counts: &StatTicks, ticks: Ticks) -> Option<CpuSample> {
    let ns = |parts: &[u64]| {
        ticks.to_ns(parts.iter().try_fold(0u64, |sum, &part| sum.checked_add(part))?)
    };
    let steal_ns = ns(&[counts.steal])?;
    let irq_ns = ns(&[counts.irq, counts.softirq])?;
    Some(CpuSample {
        cpu,
        // /proc/stat lists only online CPUs.
        online: true,
        task_ns: ns(&[counts.user, counts.nice, counts.system])?,
        idle_ns: ns(&[counts.idle, counts.iowait])?,
        irq_ns: Some(irq_ns),
        steal_ns: Some(steal_ns),
        // /proc does not give the task that they interrupted.
        irq_idle_ns: Some(irq_ns),
        steal_idle_ns: Some(steal_ns),
        ..CpuSample::default()
    })
}

/// Holds figures that ran backwards at their last value, and returns their number.
fn hold(now: &mut CpuSample, last: &CpuSample) -> u64 {
    let mut held = 0;
    let mut at_least = |now: &mut u64, last: u64| {
        held += u64::from(*now < last);
        *now = last.max(*now);
    };
    at_least(&mut now.task_ns, last.task_ns);
    at_least(&mut now.idle_ns, last.idle_ns);
    for (now, last) in [
        (&mut now.irq_ns, last.irq_ns),
        (&mut now.irq_idle_ns, last.irq_idle_ns),
        (&mut now.steal_ns, last.steal_ns),
        (&mut now.steal_idle_ns, last.steal_idle_ns),
    ] {
        if let (Some(now), Some(last)) = (now.as_mut(), last) {
            at_least(now, last);
        }
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(user: u64, idle: u64, iowait: u64, steal: u64) -> StatTicks {
        StatTicks { user, idle, iowait, steal, ..StatTicks::default() }
    }

    #[test]
    fn time_that_moves_between_idle_and_iowait_is_no_step_back() {
        let ticks = Ticks::of_this_system();
        let mut accounts = CpuAccounts::default();
        let first = accounts.advance(&[(0, counts(1, 10, 5, 0))], ticks).unwrap();
        let second = accounts.advance(&[(0, counts(1, 15, 0, 0))], ticks).unwrap();
        assert_eq!((first.0, second.1), (second.0, 0));
    }

    #[test]
    fn a_step_back_is_held_and_counted_until_the_kernel_caught_up() {
        let ticks = Ticks::of_this_system();
        let mut accounts = CpuAccounts::default();
        let mut idle_ns = |idle| {
            let (cpus, back) = accounts.advance(&[(0, counts(1, idle, 0, 0))], ticks).unwrap();
            (cpus[0].idle_ns / ticks.tick_ns(), back)
        };
        assert_eq!([100, 98, 99, 101].map(&mut idle_ns), [(100, 0), (100, 1), (100, 1), (101, 0)]);
    }
}
