//! A stretch: the windows of a range of time, summed.

use crate::accounts::Accounts;
use crate::group::Group;
use crate::pairs::Pairs;
use crate::short::Short;
use crate::slots::{Slot, Sum};
use exactop_model::owner::Grouping;
use exactop_model::Counters;
use exactop_recording::{Gap, Machine};

/// Sums of a group over the whole stretch.
#[derive(Clone, Debug, PartialEq)]
pub struct Total {
    /// The group.
    pub group: Group,
    /// CPU time.
    pub sum: Sum,
    /// All other counters; a counter is unknown if a part is unknown.
    pub counters: Counters,
    /// Exited processes.
    pub exits: u64,
}

impl Total {
    /// True if all counters are known and 0.
    pub(crate) fn is_nothing(&self) -> bool {
        self.sum.run_ns == 0 && self.exits == 0 && self.counters == Counters::zero()
    }
}

/// A stretch.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// How rows are summed.
    pub by: Grouping,
    /// Machine, as of the first window.
    pub machine: Option<Machine>,
    /// Machines of later boots, as of their first windows.
    pub later: Vec<Machine>,
    /// Names were replaced.
    pub anonymous: bool,
    /// Most CPUs online in a window.
    pub cpus: usize,
    /// Beginning of the first window and end of the last, ns since the epoch.
    pub spans: Option<(i128, i128)>,
    /// Number of windows.
    pub windows: u64,
    /// Total length of the windows, ns.
    pub length_ns: u64,
    /// Gaps between the windows.
    pub gaps: Vec<Gap>,
    /// Number of inexact windows.
    pub inexact: u64,
    /// True if the source of each window sees exits.
    pub(crate) sees_exits: bool,
    /// Accounts of all CPUs' time.
    pub accounts: Accounts,
    /// The groups, by row number.
    pub rows: Vec<Total>,
    /// Who kept whom off the CPU; `None`: no window has a blame book, or not under this key.
    pub pairs: Option<Pairs>,
    /// The rows in pieces of time.
    pub slots: Vec<Slot>,
    /// Use of all CPUs by window, if the windows are short.
    pub(crate) short: Short,
}

impl Stretch {
    /// Processes of a row that exited, if that is known.
    pub(crate) fn exits(&self, row: &Total) -> Option<u64> {
        (self.sees_exits || row.exits > 0).then_some(row.exits)
    }

    /// Returns the time of interrupts to the interrupted accounts, as if it was not measured
    /// separately.
    pub(crate) fn fold_irq(&mut self) {
        self.accounts.fold_irq();
        self.rows.iter_mut().for_each(|row| row.sum.fold_irq());
        for slot in &mut self.slots {
            slot.accounts.fold_irq();
            slot.rows.values_mut().for_each(Sum::fold_irq);
        }
    }

    /// Does the same with stolen time.
    pub(crate) fn fold_steal(&mut self) {
        self.accounts.fold_steal();
        self.rows.iter_mut().for_each(|row| row.sum.fold_steal());
        for slot in &mut self.slots {
            slot.accounts.fold_steal();
            slot.rows.values_mut().for_each(Sum::fold_steal);
        }
    }
}
