//! Cost of the programs: the number of events, times the cost of one event. The kernel's run-time
//! statistics (bpf(2), BPF_ENABLE_STATS) measure the latter at the start, and again when the rate
//! of events changes much. On a quiet machine an event finds cold caches and costs many times what
//! it costs on a busy one.
//!
//! The statistics themselves cost some 20 ns for each event, and attribute a part of that to the
//! program. So they are on only during a calibration, and the result is on the high side.

use super::kernel_side::KernelSide;
use super::tasks::Measured;
use crate::bpf::wire::ex_event;
use crate::kernel_programs::Attach;
use libbpf_rs::libbpf_sys;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Number of runs after which the mean is final. On a quiet machine it is final sooner: at the next
/// request for statistics.
const ENOUGH_RUNS: u64 = 5_000;
/// Number of runs before which there is no figure.
const FEW_RUNS: u64 = 50;
/// Factor by which the rate of events rises or falls when the load counts as changed.
const OTHER_LOAD: u64 = 4;
/// Rate below which a machine counts as quiet, events a second. At this rate all events cost less
/// than a fifth of a per cent of a CPU.
const QUIET_PER_S: u64 = 2_000;
/// Shortest time over which a rate of events says something about the load, ns. A window that ends
/// at once may be a few milliseconds long: the start of one process is no load.
const RATE_OVER_NS: u64 = 50_000_000;
/// Longest wait for a first figure under a changed load, in steps of one millisecond, so that the
/// present window gets its own figure.
const WAITS: u32 = 5;
/// Time between two requests for the statistics of the programs, ns.
const ASK_EVERY_NS: u64 = 5_000_000_000;

/// The kernel's run-time statistics of one program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramStats {
    /// Time spent in it while the statistics were on, ns.
    pub run_time_ns: u64,
    /// Runs while the statistics were on.
    pub runs: u64,
    /// Runs that the kernel skipped because the program was already running on that CPU.
    pub recursion_misses: u64,
}

/// The calibration and the cost so far.
pub struct Cost {
    wanted: bool,
    stats: Option<OwnedFd>,
    /// Statistics of each program at the last request.
    known: Vec<ProgramStats>,
    /// Instant of the last request, ns.
    asked_ns: Option<u64>,
    /// Optional programs that were attached at the last request or after it.
    attached: Measured,
    /// Statistics at the start of this calibration.
    base: ProgramStats,
    /// Instant of the first figure of this calibration, ns.
    figure_ns: Option<u64>,
    ns_per_event: Option<f64>,
    /// Rate of events when the cost was measured, events a second.
    per_s: u64,
    events: u64,
    ns: f64,
    /// Number of events and instant, ns, at which the rate was measured last.
    rated: Option<(u64, u64)>,
}

impl Cost {
    /// Starts the calibration, if `wanted` and if the kernel permits it.
    pub fn start(wanted: bool) -> Cost {
        Cost {
            wanted,
            stats: wanted.then(enable_statistics).flatten(),
            known: Vec::new(),
            asked_ns: None,
            attached: Measured::default(),
            base: ProgramStats::default(),
            figure_ns: None,
            ns_per_event: None,
            per_s: 0,
            events: 0,
            ns: 0.0,
            rated: None,
        }
    }

    /// Adds the cost of the events up to now. Asks the kernel for the programs' statistics every five
    /// seconds, in the `last` window, and in each window until a calibration has a figure. `attached`
    /// says which optional programs are attached. Returns the number of skipped runs at the last
    /// request: a skipped run makes the window inexact in which it becomes known.
    pub fn review(
        &mut self,
        kernel: &KernelSide,
        now_ns: u64,
        attached: Measured,
        last: bool,
    ) -> u64 {
        let events = events(kernel);
        let new = events.saturating_sub(self.events);
        self.events = events;
        if let Some(per_s) = self.rate(now_ns).filter(|&now| is_other(now, self.per_s)) {
            self.calibrate_anew(kernel, per_s, now_ns);
        }
        self.attached.split |= attached.split;
        self.attached.irq |= attached.irq;
        let lacks_figure = self.stats.is_some() && self.figure_ns.is_none();
        if last || lacks_figure || is_due(self.asked_ns, now_ns) {
            self.asked_ns = Some(now_ns);
            let since = std::mem::replace(&mut self.attached, attached);
            self.ask(kernel, now_ns, |when| match when {
                Attach::Split => since.split,
                Attach::Interrupts => since.irq,
                // Only the reader runs it, and no interrupt runs it again.
                Attach::Flush => false,
                _ => true,
            });
        }
        if let Some(ns_per_event) = self.ns_per_event {
            self.ns += new as f64 * ns_per_event;
        }
        sum(&self.known).recursion_misses
    }

    /// Number of events so far, and their cost so far, ns; the cost is `None` until calibrated.
    pub fn so_far(&self) -> (u64, Option<u64>) {
        (self.events, self.ns_per_event.map(|_| self.ns as u64))
    }

    /// Cost of one event, ns, once calibrated.
    pub fn ns_per_event(&self) -> Option<f64> {
        self.ns_per_event
    }

    /// Rate of events since the last rate, events a second, if that is long enough ago.
    fn rate(&mut self, now_ns: u64) -> Option<u64> {
        let now = (self.events, now_ns);
        let (events, at_ns) = *self.rated.get_or_insert(now);
        let elapsed_ns = now_ns.checked_sub(at_ns).filter(|&ns| ns >= RATE_OVER_NS)?;
        self.rated = Some(now);
        let new = u128::from(self.events.saturating_sub(events));
        (new * 1_000_000_000).checked_div(elapsed_ns.into())?.try_into().ok()
    }

    /// Measures the cost of an event under a changed load, at once if there are enough events.
    fn calibrate_anew(&mut self, kernel: &KernelSide, per_s: u64, now_ns: u64) {
        if !self.wanted {
            return;
        }
        if self.stats.is_none() {
            self.stats = enable_statistics();
        }
        self.known = program_stats(kernel);
        self.base = sum(&self.known);
        (self.per_s, self.figure_ns) = (per_s, None);
        for _ in 0..WAITS {
            std::thread::sleep(std::time::Duration::from_millis(1));
            if self.ask(kernel, now_ns, |_| true) {
                break;
            }
        }
    }

    /// Requests the statistics of the programs that `may_have_run` since the last request, or of
    /// all programs during a calibration. Returns true if this calibration has a figure.
    fn ask(
        &mut self,
        kernel: &KernelSide,
        now_ns: u64,
        may_have_run: impl Fn(Attach) -> bool,
    ) -> bool {
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
        let figure_ns = *self.figure_ns.get_or_insert(now_ns);
        if runs >= ENOUGH_RUNS || now_ns >= figure_ns + ASK_EVERY_NS {
            self.stats = None;
        }
        true
    }
}

/// True if the last request for statistics is so long ago that the next one is due.
fn is_due(asked_ns: Option<u64>, now_ns: u64) -> bool {
    asked_ns.is_none_or(|asked_ns| now_ns >= asked_ns + ASK_EVERY_NS)
}

/// True if a rate of events is a changed load.
fn is_other(now_per_s: u64, then_per_s: u64) -> bool {
    let (now, then) = (now_per_s.max(QUIET_PER_S), then_per_s.max(QUIET_PER_S));
    now / then >= OTHER_LOAD || then / now >= OTHER_LOAD
}

/// Turns on the kernel's run-time statistics until the descriptor is closed.
fn enable_statistics() -> Option<OwnedFd> {
    // SAFETY: the call takes a number and returns a descriptor or an error.
    let fd = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    // SAFETY: the kernel just opened this descriptor for us.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

fn sum(stats: &[ProgramStats]) -> ProgramStats {
    stats.iter().fold(ProgramStats::default(), |sum, one| ProgramStats {
        run_time_ns: sum.run_time_ns + one.run_time_ns,
        runs: sum.runs + one.runs,
        recursion_misses: sum.recursion_misses + one.recursion_misses,
    })
}

/// Number of changes between user and system mode so far.
pub fn mode_events(kernel: &KernelSide) -> u64 {
    events_of(kernel, ex_event::EX_EV_MODE)
}

/// Number of begins and ends of interrupts so far.
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

/// The kernel's statistics of each program.
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
    fn windows_in_five_seconds_ask_once_for_statistics() {
        let mut asked_ns = None;
        let ends = (0..20).map(|n| 7_000_000_000 + n * 500_000_000);
        let asks = ends.filter(|&now_ns| {
            let due = is_due(asked_ns, now_ns);
            asked_ns = if due { Some(now_ns) } else { asked_ns };
            due
        });
        assert_eq!(asks.count(), 2, "in ten seconds");
    }

    #[test]
    fn the_start_of_a_process_is_no_load() {
        let mut cost = Cost::start(false);
        let mut rate = |events, ms: u64| {
            cost.events = events;
            cost.rate(ms * 1_000_000)
        };
        assert_eq!(rate(1_000, 5_000), None, "the first");
        assert_eq!(rate(1_100, 6_000), Some(100));
        assert_eq!(rate(1_300, 6_007), None, "200 events in a window that ended at once");
        assert_eq!(rate(1_400, 7_000), Some(300), "over both windows");
        assert_eq!(rate(6_400, 7_050), Some(100_000));
    }

    #[test]
    fn a_load_changes_by_a_factor_of_four_unless_the_machine_is_quiet() {
        assert!(!is_other(0, 1_900) && !is_other(7_000, 100), "quiet, or nearly so");
        assert!(is_other(8_000, 100) && is_other(100, 8_000));
        assert!(!is_other(30_000, 10_000) && is_other(40_000, 10_000) && is_other(10_000, 40_000));
    }
}
