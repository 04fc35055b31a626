//! What the programs cost: events, counted always, times the cost of one, measured at the start
//! by the kernel's own run-time statistics (bpf(2), BPF_ENABLE_STATS).
//!
//! The statistics themselves cost some 20 ns an event, part of which they attribute to the
//! program, so they are on only for the calibration, and the result errs on the high side.

use super::kernel_side::KernelSide;
use libbpf_rs::libbpf_sys;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// Runs after which the mean is taken for good.
const ENOUGH_RUNS: u64 = 5_000;
/// Runs before which there is no figure.
const FEW_RUNS: u64 = 50;
/// How long a first figure stands before more runs make it better, ns.
const CALIBRATION_NS: u64 = 5_000_000_000;
/// How long skipped runs may go without a look once there is a figure for good, ns: asking is a
/// system call for each program, and what a skipped run leaves behind is noticed, and set right, at
/// once.
const REVIEW_NS: u64 = 20_000_000_000;

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
    stats: Option<OwnedFd>,
    ns_per_event: Option<f64>,
    events: u64,
    ns: f64,
    recursions: u64,
    reviewed_ns: u64,
}

impl Cost {
    /// Begins to calibrate, if wanted and if the kernel lets us.
    pub fn start(calibrate: bool) -> Cost {
        let fd = if calibrate {
            // SAFETY: the call takes a number and returns a descriptor or an error.
            unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) }
        } else {
            -1
        };
        // SAFETY: a descriptor that was just opened for us.
        let stats = (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) });
        Cost { stats, ns_per_event: None, events: 0, ns: 0.0, recursions: 0, reviewed_ns: 0 }
    }

    /// Asks the kernel about the programs when it is time to; runs skipped so far, cumulative.
    pub fn review(&mut self, kernel: &KernelSide, now_ns: u64) -> u64 {
        let no_figure = self.stats.is_some() && self.ns_per_event.is_none();
        let after_ns = if self.stats.is_some() { CALIBRATION_NS } else { REVIEW_NS };
        if no_figure || now_ns.saturating_sub(self.reviewed_ns) >= after_ns {
            let stats = program_stats(kernel);
            self.reviewed_ns = now_ns;
            self.recursions = stats.iter().map(|s| s.recursion_misses).sum();
            if self.stats.is_some() {
                self.calibrate(&stats);
            }
        }
        self.recursions
    }

    /// Takes note of the events so far; `(events, ns)` cumulative, ns `None` until calibrated.
    pub fn update(&mut self, kernel: &KernelSide) -> (u64, Option<u64>) {
        let events = events(kernel);
        let new = events.saturating_sub(self.events);
        self.events = events;
        self.ns += new as f64 * self.ns_per_event.unwrap_or(0.0);
        (events, self.ns_per_event.map(|_| self.ns as u64))
    }

    /// The cost of one event, once known.
    pub fn ns_per_event(&self) -> Option<f64> {
        self.ns_per_event
    }

    fn calibrate(&mut self, stats: &[ProgramStats]) {
        let runs: u64 = stats.iter().map(|s| s.runs).sum();
        let time: u64 = stats.iter().map(|s| s.run_time_ns).sum();
        if runs >= FEW_RUNS {
            self.ns_per_event = Some(time as f64 / runs as f64);
        }
        if runs >= ENOUGH_RUNS {
            self.stats = None;
        }
    }
}

/// Changes between user and system mode so far (EX_EV_MODE of bpf/wire.h).
pub fn mode_events(kernel: &KernelSide) -> u64 {
    events_of(kernel, 6)
}

/// Beginnings and ends of interrupts so far (EX_EV_IRQ of bpf/wire.h).
pub fn interrupt_events(kernel: &KernelSide) -> u64 {
    events_of(kernel, 7)
}

fn events_of(kernel: &KernelSide, kind: usize) -> u64 {
    (0..kernel.possible_cpus)
        .map(|cpu| kernel.cpus.field(cpu, |c| unsafe { &raw const (*c).events })[kind])
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
    kernel.programs().iter().filter_map(|p| stats_of(p.as_fd().as_raw_fd())).collect()
}

fn stats_of(fd: i32) -> Option<ProgramStats> {
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
