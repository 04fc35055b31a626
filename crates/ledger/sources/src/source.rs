//! The one thing every source does: give everything cumulative at one instant.

use crate::error::SourceError;
use exactop_model::{Needs, Provenance, Snapshot};

/// When something that costs time is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// Whatever it costs.
    Always,
    /// Not at all.
    Never,
    /// While a column on screen asks for it and it stays under the budget.
    #[default]
    WhileCheap,
}

/// User, system and interrupt time: how they are told apart, and what that may cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SplitOptions {
    /// User from system time, at every system call; else by the kernel's tick-sampled ratio.
    pub split: When,
    /// Interrupts from whom they hit.
    pub irq: When,
    /// For `WhileCheap`: the cost at which each of the two stops, as a share of the machine's CPU time (0..1).
    pub budget: f64,
}

impl Default for SplitOptions {
    fn default() -> SplitOptions {
        SplitOptions { split: When::WhileCheap, irq: When::WhileCheap, budget: 0.01 }
    }
}

/// What the next snapshot must hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// What the columns on screen need.
    pub needs: Needs,
    /// The process whose time on each CPU is to be counted from now on.
    pub watch: Option<u32>,
    /// How often one is asked for, ns, where that is known.
    pub interval_ns: Option<u64>,
}

/// How many processes are followed at once, at most.
pub const FOLLOWED_MOST: usize = 16;

/// A process whose children begin a tree of descendants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// Its number.
    pub tgid: u32,
    /// When its leader began, since boot, ns; 0: whoever has this number.
    pub start_ns: u64,
    /// The number that samples of its descendants have ([`TaskSample::tree`](exactop_model::TaskSample)), never 0
    /// and no other tree's.
    pub tree: u32,
}

/// A source of snapshots. `Snapshot::system` and the user-space part of `Snapshot::cost` are
/// filled in by the [`session`](crate::session), the same way for every source.
pub trait Source {
    /// Everything cumulative at one instant, not earlier than the call.
    ///
    /// # Errors
    /// When nothing can be read any more; a single task that vanishes is not an error.
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError>;

    /// Who this is and how good its figures are.
    fn provenance(&self) -> &Provenance;

    /// From the next snapshot on the children of these begin trees, with everyone who descends from them by
    /// birth, unless they belong to one already. Whoever belongs to a tree stays in it.
    ///
    /// # Errors
    /// This source does not see births, or they are more than [`FOLLOWED_MOST`].
    fn follow(&mut self, _: &[Followed]) -> Result<(), SourceError> {
        Err(SourceError::Unavailable {
            what: "this source follows nobody's descendants".into(),
            advice: "the ledger does (--source ledger)".into(),
        })
    }

    /// Whether the snapshot taken last is the first of another ledger than the one before it: nothing
    /// can be subtracted from it, and a book begins anew with it.
    fn has_begun_anew(&self) -> bool {
        false
    }
}
