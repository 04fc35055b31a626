//! Optional groups of programs: user and system time, measured at every system call, and interrupt
//! time, measured at the entry and exit of every interrupt.
//!
//! A group stays attached while its measured cost is below a budget; after that it rests for a
//! while. Without it, user and system time come from the kernel's tick-sampled ratio, and interrupt
//! time is part of the task or idle time that was interrupted.

use super::cost;
use super::kernel_side::KernelSide;
use crate::bpf::loading::Attachment;
use crate::error::SourceError;
use crate::kernel_programs::Attach;
use crate::source::{MeasurePolicy, SplitOptions};

/// Rest of a group after it exceeded the budget, ns.
const REST_NS: u64 = 30_000_000_000;

/// A group of optional programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// User and system time, and system calls.
    Split,
    Interrupts,
}

/// The state of a group of optional programs.
pub struct Optional {
    group: Group,
    when: MeasurePolicy,
    budget: f64,
    links: Vec<Attachment>,
    run: u32,
    rest_until_ns: u64,
    last: Option<(u64, u64)>,
}

impl Optional {
    /// A group that is not attached.
    pub fn new(group: Group, options: SplitOptions) -> Optional {
        let when = match group {
            Group::Split => options.split,
            Group::Interrupts => options.irq,
        };
        Optional {
            group,
            when,
            budget: options.budget,
            links: Vec::new(),
            run: 0,
            rest_until_ns: 0,
            last: None,
        }
    }

    /// True while the group is attached.
    pub fn is_on(&self) -> bool {
        !self.links.is_empty()
    }

    /// Attaches the programs if the options say so or, if the view decides, if it is `wanted`.
    pub fn want(
        &mut self,
        kernel: &KernelSide,
        wanted: bool,
        now_ns: u64,
    ) -> Result<(), SourceError> {
        let on = match self.when {
            MeasurePolicy::Always => true,
            MeasurePolicy::Never => false,
            MeasurePolicy::WhileCheap => wanted && now_ns >= self.rest_until_ns,
        };
        if on && !self.is_on() {
            self.start(kernel)?;
        } else if !on && self.is_on() {
            self.stop(kernel);
        }
        Ok(())
    }

    fn start(&mut self, kernel: &KernelSide) -> Result<(), SourceError> {
        self.last = None;
        self.links = kernel.attach_those(match self.group {
            Group::Split => Attach::Split,
            Group::Interrupts => Attach::Interrupts,
        })?;
        self.run = self.run.wrapping_add(1).max(1);
        self.tell(kernel, self.run);
        Ok(())
    }

    fn stop(&mut self, kernel: &KernelSide) {
        self.tell(kernel, 0);
        // Detach in reverse order: the programs for begins of interrupts first.
        while self.links.pop().is_some() {}
    }

    /// Tells the programs the number of this measurement; 0: none.
    fn tell(&self, kernel: &KernelSide, run: u32) {
        match self.group {
            Group::Split => kernel.globals.set_split_run(run),
            Group::Interrupts => kernel.globals.set_irq_run(run),
        }
    }

    /// Compares the cost of the last window with the budget. `ns_per_event` is the calibrated cost,
    /// `now_ns` the window's end.
    pub fn review(&mut self, kernel: &KernelSide, ns_per_event: Option<f64>, now_ns: u64) {
        let events = match self.group {
            Group::Split => cost::mode_events(kernel),
            Group::Interrupts => cost::interrupt_events(kernel),
        };
        let before = self.last.replace((events, now_ns));
        if self.when != MeasurePolicy::WhileCheap || !self.is_on() {
            return;
        }
        let Some(((events_before, t0_ns), ns)) = before.zip(ns_per_event) else { return };
        let window_ns = now_ns.saturating_sub(t0_ns) as f64 * kernel.possible_cpus as f64;
        if events.saturating_sub(events_before) as f64 * ns > self.budget * window_ns {
            self.stop(kernel);
            self.rest_until_ns = now_ns + REST_NS;
        }
    }
}
