//! User and system time, measured at every system call: exact, and dear where there are many.
//!
//! The programs are attached while their measured cost stays under a budget; then not again for a
//! while. What is not measured falls back to the kernel's tick-sampled ratio.

use super::kernel_side::KernelSide;
use crate::error::SourceError;
use crate::source::{SplitOptions, SplitPolicy};
use libbpf_rs::Link;

/// How long the programs stay away after they were over the budget.
const REST_NS: u64 = 30_000_000_000;

/// The optional programs and whether they are worth it.
pub struct Split {
    options: SplitOptions,
    links: Vec<Link>,
    run: u32,
    rest_until_ns: u64,
    last: Option<(u64, u64)>,
}

impl Split {
    /// Not measuring yet.
    pub fn new(options: SplitOptions) -> Split {
        Split { options, links: Vec::new(), run: 0, rest_until_ns: 0, last: None }
    }

    /// Whether it is being measured.
    pub fn is_on(&self) -> bool {
        !self.links.is_empty()
    }

    /// Attaches the programs where the policy or, if that is up to the view, `wanted` says so.
    pub fn want(
        &mut self,
        kernel: &KernelSide,
        wanted: bool,
        now_ns: u64,
    ) -> Result<(), SourceError> {
        let on = match self.options.policy {
            SplitPolicy::Exact => true,
            SplitPolicy::Sampled => false,
            SplitPolicy::Auto => wanted && now_ns >= self.rest_until_ns,
        };
        if on && !self.is_on() {
            self.links = kernel.attach_split()?;
            self.run = self.run.wrapping_add(1).max(1);
            kernel.globals.set_split_run(self.run);
            self.last = None;
        } else if !on && self.is_on() {
            self.stop(kernel);
        }
        Ok(())
    }

    fn stop(&mut self, kernel: &KernelSide) {
        kernel.globals.set_split_run(0);
        self.links.clear();
    }

    /// Looks at what the last window cost: `events` mode changes so far, `ns_per_event` their
    /// calibrated cost, `now_ns` the window's end.
    pub fn review(
        &mut self,
        kernel: &KernelSide,
        events: u64,
        ns_per_event: Option<f64>,
        now_ns: u64,
    ) {
        let before = self.last.replace((events, now_ns));
        if self.options.policy != SplitPolicy::Auto || !self.is_on() {
            return;
        }
        let Some(((events_before, t0_ns), ns)) = before.zip(ns_per_event) else { return };
        let window_ns = now_ns.saturating_sub(t0_ns) as f64 * kernel.possible_cpus as f64;
        if events.saturating_sub(events_before) as f64 * ns > self.options.budget * window_ns {
            self.stop(kernel);
            self.rest_until_ns = now_ns + REST_NS;
        }
    }
}
