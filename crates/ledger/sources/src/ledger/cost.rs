//! What the programs cost: events, counted always, times the cost of one, measured by the kernel's
//! own run-time statistics (bpf(2), BPF_ENABLE_STATS) at the start, and again whenever the rate of
//! events changes much: an event on a quiet machine finds cold caches and costs many times what it
//! costs on a busy one.
//!
//! The statistics themselves cost some 20 ns an event, part of which they attribute to the
//! program, so they are on only for the calibration, and the result errs on the high side.

use super::kernel_side::KernelSide;
use super::tasks::Measured;
use crate::bpf::wire::ex_event;
use crate::kernel_programs::Attach;
use libbpf_rs::libbpf_sys;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Runs after which the mean is taken for good.
const ENOUGH_RUNS: u64 = 5_000;
/// Runs before which there is no figure.
const FEW_RUNS: u64 = 50;
/// A rate of events so many times what it was, or so many times smaller, is another load.
const OTHER_LOAD: u64 = 4;
/// Events a second below which a machine counts as quiet, however quiet: what they cost in all is
/// below a fifth of a per cent of a CPU.
const QUIET_PER_S: u64 = 2_000;
/// How long to wait for a first figure under a new load, so that this very window gets its own:
/// so many times a millisecond.
const WAITS: u32 = 5;

/// What the kernel says of one program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramStats {
    /// Time spent in it while the statistics were on, ns.
    pub run_time_ns: u64,
    /// Runs while the statistics were on.
    pub runs: u64,
    /// Runs skipped because it was already running on that CPU.
    pub recursion_misses: u64,
}

/// The calibration and the sum so far.
pub struct Cost {
    wanted: bool,
    stats: Option<OwnedFd>,
    /// What the kernel said of each program when it was last asked.
    known: Vec<ProgramStats>,
    /// Which optional programs were attached then.
    attached: Measured,
    /// What the kernel had counted when this calibration began.
    base: ProgramStats,
    ns_per_event: Option<f64>,
    /// Events a second when the figure was measured.
    per_s: u64,
    events: u64,
    ns: f64,
    /// When events were counted last.
    counted_ns: Option<u64>,
}

impl Cost {
    /// Begins to calibrate, if wanted and if the kernel lets us.
    pub fn start(wanted: bool) -> Cost {
        Cost {
            wanted,
            stats: wanted.then(enable_statistics).flatten(),
            known: Vec::new(),
            attached: Measured::default(),
            base: ProgramStats::default(),
            ns_per_event: None,
            per_s: 0,
            events: 0,
            ns: 0.0,
            counted_ns: None,
        }
    }

    /// Takes note of the events up to now, and asks the kernel about the programs: in each window,
    /// because one in which a run was skipped is not exact. `attached`: which optional ones are.
    /// Runs skipped so far, cumulative.
    pub fn review(&mut self, kernel: &KernelSide, now_ns: u64, attached: Measured) -> u64 {
        let events = events(kernel);
        let new = events.saturating_sub(self.events);
        self.events = events;
        if let Some(per_s) = self.rate(new, now_ns).filter(|&now| is_other(now, self.per_s)) {
            self.calibrate_anew(kernel, per_s);
        }
        let before = std::mem::replace(&mut self.attached, attached);
        self.ask(kernel, |when| match when {
            Attach::Split => attached.split || before.split,
            Attach::Interrupts => attached.irq || before.irq,
            // The reader runs it, and nothing interrupts it that would run it again.
            Attach::Flush => false,
            _ => true,
        });
        if let Some(ns_per_event) = self.ns_per_event {
            self.ns += new as f64 * ns_per_event;
        }
        sum(&self.known).recursion_misses
    }

    /// The events so far and what they cost, cumulative; ns `None` until calibrated.
    pub fn so_far(&self) -> (u64, Option<u64>) {
        (self.events, self.ns_per_event.map(|_| self.ns as u64))
    }

    /// The cost of one event, once known.
    pub fn ns_per_event(&self) -> Option<f64> {
        self.ns_per_event
    }

    /// Events a second since they were counted last.
    fn rate(&mut self, new: u64, now_ns: u64) -> Option<u64> {
        let elapsed_ns = now_ns.checked_sub(self.counted_ns.replace(now_ns)?)?;
        (u128::from(new) * 1_000_000_000).checked_div(elapsed_ns.into())?.try_into().ok()
    }

    /// Another load: what an event costs under it, measured at once if there are enough of them.
    fn calibrate_anew(&mut self, kernel: &KernelSide, per_s: u64) {
        if !self.wanted {
            return;
        }
        if self.stats.is_none() {
            self.stats = enable_statistics();
        }
        self.known = program_stats(kernel);
        self.base = sum(&self.known);
        self.per_s = per_s;
        for _ in 0..WAITS {
            std::thread::sleep(std::time::Duration::from_millis(1));
            if self.ask(kernel, |_| true) {
                break;
            }
        }
    }

    /// Asks the kernel about those programs that `may_have_run` since it was last asked, or about
    /// all of them while their time is measured; whether there is a figure of this calibration.
    fn ask(&mut self, kernel: &KernelSide, may_have_run: impl Fn(Attach) -> bool) -> bool {
        let all = self.stats.is_some() || self.known.len() != kernel.counted().len();
        self.known.resize(kernel.counted().len(), ProgramStats::default());
        for (known, &(when, fd)) in self.known.iter_mut().zip(kernel.counted()) {
            if all || may_have_run(when) {
                *known = stats_of(fd).unwrap_or(*known);
            }
        }
        let now = sum(&self.known);
        let runs = now.runs.saturating_sub(self.base.runs);
        if self.stats.is_none() || runs < FEW_RUNS {
            return false;
        }
        let time_ns = now.run_time_ns.saturating_sub(self.base.run_time_ns);
        self.ns_per_event = Some(time_ns as f64 / runs as f64);
        if runs >= ENOUGH_RUNS {
            self.stats = None;
        }
        true
    }
}

/// Whether a rate of events is another load than the one measured.
fn is_other(now_per_s: u64, then_per_s: u64) -> bool {
    let (now, then) = (now_per_s.max(QUIET_PER_S), then_per_s.max(QUIET_PER_S));
    now / then >= OTHER_LOAD || then / now >= OTHER_LOAD
}

/// The kernel's run-time statistics, on until the descriptor is closed.
fn enable_statistics() -> Option<OwnedFd> {
    // SAFETY: the call takes a number and returns a descriptor or an error.
    let fd = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    // SAFETY: a descriptor that was just opened for us.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

fn sum(stats: &[ProgramStats]) -> ProgramStats {
    stats.iter().fold(ProgramStats::default(), |sum, one| ProgramStats {
        run_time_ns: sum.run_time_ns + one.run_time_ns,
        runs: sum.runs + one.runs,
        recursion_misses: sum.recursion_misses + one.recursion_misses,
    })
}

/// Changes between user and system mode so far.
pub fn mode_events(kernel: &KernelSide) -> u64 {
    events_of(kernel, ex_event::EX_EV_MODE)
}

/// Beginnings and ends of interrupts so far.
pub fn interrupt_events(kernel: &KernelSide) -> u64 {
    events_of(kernel, ex_event::EX_EV_IRQ)
}

fn events_of(kernel: &KernelSide, kind: ex_event) -> u64 {
    (0..kernel.possible_cpus)
        .map(|cpu| kernel.cpus.field(cpu, |c| unsafe { &raw const (*c).events })[kind.0 as usize])
        .sum()
}

fn events(kernel: &KernelSide) -> u64 {
    (0..kernel.possible_cpus)
        .map(|cpu| kernel.cpus.field(cpu, |c| unsafe { &raw const (*c).events }))
        .map(|events| events.iter().sum::<u64>())
        .sum()
}

/// The kernel's figures for each of our programs.
pub fn program_stats(kernel: &KernelSide) -> Vec<ProgramStats> {
    kernel.counted().iter().filter_map(|&(_, fd)| stats_of(fd)).collect()
}

fn stats_of(fd: RawFd) -> Option<ProgramStats> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut size = size_of_val(&info) as u32;
    // SAFETY: info is a plain struct of `size` bytes that the kernel fills.
    let answer =
        unsafe { libbpf_sys::bpf_obj_get_info_by_fd(fd, (&raw mut info).cast(), &raw mut size) };
    (answer == 0).then_some(ProgramStats {
        run_time_ns: info.run_time_ns,
        runs: info.run_cnt,
        recursion_misses: info.recursion_misses,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_load_is_four_times_as_many_events_or_a_quarter_and_quiet_is_quiet() {
        assert!(!is_other(0, 1_900) && !is_other(7_000, 100), "quiet, or nearly so");
        assert!(is_other(8_000, 100) && is_other(100, 8_000));
        assert!(!is_other(30_000, 10_000) && is_other(40_000, 10_000) && is_other(10_000, 40_000));
    }
}
