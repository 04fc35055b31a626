//! The windows of some time, summed.

use crate::accounts::Accounts;
use crate::group::Group;
use crate::short::Short;
use crate::slots::{Slot, Sum};
use exactop_model::owner::By;
use exactop_model::Counters;
use exactop_recording::{Gap, Machine};

/// What a group did in all of the stretch.
#[derive(Clone, Debug, PartialEq)]
pub struct Total {
    /// Who.
    pub group: Group,
    /// CPU time.
    pub sum: Sum,
    /// Everything else; what is not known of all of it is not known.
    pub counters: Counters,
    /// Processes that exited.
    pub exits: u64,
}

impl Total {
    /// Nothing is known to have happened to it, and all of it is known.
    pub(crate) fn is_nothing(&self) -> bool {
        self.sum.run_ns == 0 && self.exits == 0 && self.counters == Counters::zero()
    }
}

/// A stretch.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// What its rows stand for.
    pub by: By,
    /// Whose it is, as of its first window.
    pub machine: Option<Machine>,
    /// And as of the first of each later boot.
    pub later: Vec<Machine>,
    /// Names in it stand for others.
    pub anonymous: bool,
    /// The most CPUs that were online in a window.
    pub cpus: usize,
    /// Its first window's beginning and its last one's end, ns since the epoch.
    pub spans: Option<(i128, i128)>,
    /// How many windows there are.
    pub windows: u64,
    /// How long they are together.
    pub length_ns: u64,
    /// Time between them that is not recorded.
    pub gaps: Vec<Gap>,
    /// Windows that are inexact.
    pub inexact: u64,
    /// Where all of the CPUs' time went.
    pub accounts: Accounts,
    /// Everyone who used any, by number.
    pub rows: Vec<Total>,
    /// The same in pieces of time.
    pub slots: Vec<Slot>,
    /// Use of all CPUs by window, where these are short.
    pub(crate) short: Short,
}

impl Stretch {
    /// Interrupts go back to whom they hit, as where they are not measured.
    pub(crate) fn fold_irq(&mut self) {
        self.accounts.fold_irq();
        self.rows.iter_mut().for_each(|row| row.sum.fold_irq());
        for slot in &mut self.slots {
            slot.accounts.fold_irq();
            slot.rows.values_mut().for_each(Sum::fold_irq);
        }
    }

    /// Stolen time, too.
    pub(crate) fn fold_steal(&mut self) {
        self.accounts.fold_steal();
        self.rows.iter_mut().for_each(|row| row.sum.fold_steal());
        for slot in &mut self.slots {
            slot.accounts.fold_steal();
            slot.rows.values_mut().for_each(Sum::fold_steal);
        }
    }
}
