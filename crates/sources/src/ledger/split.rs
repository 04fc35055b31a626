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

    /// Attaches the programs unless the policy says not to.
    pub fn start(&mut self, kernel: &KernelSide) -> Result<(), SourceError> {
        if self.options.policy == SplitPolicy::Sampled || self.is_on() {
            return Ok(());
        }
        self.links = kernel.attach_split()?;
        self.run = self.run.wrapping_add(1).max(1);
        kernel.globals.set_split_run(self.run);
        self.last = None;
        Ok(())
    }

    /// Looks at what the last window cost: `events` mode changes so far, `ns_per_event` their
    /// calibrated cost, `now_ns` the window's end.
    pub fn review(
        &mut self,
        kernel: &KernelSide,
        events: u64,
        ns_per_event: Option<f64>,
        now_ns: u64,
    ) -> Result<(), SourceError> {
        let before = self.last.replace((events, now_ns));
        if self.options.policy != SplitPolicy::Auto {
            return Ok(());
        }
        if !self.is_on() {
            return if now_ns >= self.rest_until_ns { self.start(kernel) } else { Ok(()) };
        }
        let Some(((events_before, t0_ns), ns)) = before.zip(ns_per_event) else { return Ok(()) };
        let window_ns = now_ns.saturating_sub(t0_ns) as f64 * kernel.possible_cpus as f64;
        if events.saturating_sub(events_before) as f64 * ns > self.options.budget * window_ns {
            kernel.globals.set_split_run(0);
            self.links.clear();
            self.rest_until_ns = now_ns + REST_NS;
        }
        Ok(())
    }
}
