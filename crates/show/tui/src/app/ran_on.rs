//! The CPUs on which the process of the open page ran: those of its last watched window, which stay
//! until a page of it is open again for a window.

use super::App;
use exactop_model::{Frame, TaskKey};

/// The process's time on one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuShare {
    /// The CPU's number.
    pub(crate) cpu: u32,
    /// Time on it, ns.
    pub(crate) ns: u64,
    /// Number of times that the process got it, if counted.
    pub(crate) dispatches: Option<u64>,
}

/// The CPUs of the process that was watched last.
#[derive(Clone, Debug)]
pub(crate) struct RanOn {
    process: TaskKey,
    /// End of the window, ns.
    pub(crate) t1_ns: u64,
    /// Every CPU, in the order of numbers.
    pub(crate) cpus: Vec<CpuShare>,
}

/// The watched process's time on each CPU; empty if the window watched no process.
pub(crate) fn cpu_shares(frame: &Frame) -> Vec<CpuShare> {
    let cpus = frame.cpus.iter().map(|cpu| &cpu.account.time);
    let share = |ns, cpu, dispatches| CpuShare { cpu, ns, dispatches };
    cpus.filter_map(|time| Some(share(time.watched_ns?, time.cpu, time.watched_dispatches)))
        .collect()
}

impl App {
    /// Notes the CPUs of the open page's process. A recording has no last window, because its user
    /// moves in both directions.
    pub(super) fn note_ran_on(&mut self, frame: &Frame) {
        let Some(process) = self.process_page().map(|page| page.key) else { return };
        let cpus = cpu_shares(frame);
        if self.past.is_none() && frame.watch == Some(process.tgid) && !cpus.is_empty() {
            self.ran_on = Some(RanOn { process, t1_ns: frame.t1_ns, cpus });
        }
    }

    /// The last known CPUs of this process.
    pub(crate) fn ran_on(&self, process: TaskKey) -> Option<&RanOn> {
        self.ran_on.as_ref().filter(|ran| ran.process == process && self.past.is_none())
    }
}
