//! The trait of all sources: a snapshot of all cumulative figures at one instant.

use crate::error::SourceError;
use exactop_model::{Needs, Provenance, Snapshot};

/// When an optional figure is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MeasurePolicy {
    /// Always, whatever it costs.
    Always,
    /// Never.
    Never,
    /// While a column on the screen needs it and its cost is below the budget.
    #[default]
    WhileCheap,
}

/// What the ledger measures beside run time and waits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SplitOptions {
    /// User and system time, at every system call; else the kernel's tick-sampled ratio.
    pub split: MeasurePolicy,
    /// Interrupt time; else it is part of the task or idle time that was interrupted.
    pub irq: MeasurePolicy,
    /// For `WhileCheap`: the cost at which each of the two stops, as a share of the machine's CPU
    /// time (0..1).
    pub budget: f64,
    /// The blame book, with the shortest wait that has a culprit, ns; `None`: no book is kept.
    pub blame_floor_ns: Option<u64>,
    /// Histograms of waits in the blame book.
    pub wait_sizes: bool,
}

/// Waits shorter than this have no culprit in the blame book, if nothing else is set, ns.
pub const BLAME_FLOOR_NS: u64 = 5_000;

impl Default for SplitOptions {
    fn default() -> SplitOptions {
        SplitOptions {
            split: MeasurePolicy::WhileCheap,
            irq: MeasurePolicy::WhileCheap,
            budget: 0.01,
            blame_floor_ns: Some(BLAME_FLOOR_NS),
            wait_sizes: false,
        }
    }
}

/// Request for the next snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Needs of the columns on the screen.
    pub needs: Needs,
    /// The process whose time on each CPU is counted from now on.
    pub watch: Option<u32>,
    /// Time between two requests, ns, if known.
    pub interval_ns: Option<u64>,
    /// Leave nothing for later: do not wait for an instant that readers of a daemon share, and read
    /// also what is otherwise read once in some seconds.
    pub at_once: bool,
}

/// Most followed processes at a time.
pub const FOLLOWED_MOST: usize = 16;

/// A process whose children begin a tree of descendants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FollowedProcess {
    /// Process number.
    pub tgid: u32,
    /// Start time of its leader since boot, ns; 0: the process that has this number.
    pub start_ns: u64,
    /// Number of the tree in samples of its descendants
    /// ([`TaskSample::tree`](exactop_model::TaskSample)); not 0, and different for each tree.
    pub tree: u32,
}

/// A source of snapshots. The [`session`](crate::session) fills in `Snapshot::system` and the
/// user-space part of `Snapshot::cost`, in the same way for every source.
pub trait Source {
    /// All cumulative figures at one instant, not earlier than the call.
    ///
    /// # Errors
    /// Nothing can be read any more. A single task that vanishes is no error.
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError>;

    /// The source and the quality of its figures.
    fn provenance(&self) -> &Provenance;

    /// From the next snapshot on, the children of these processes begin trees with all their
    /// descendants by birth. A task that already belongs to a tree stays in it.
    ///
    /// # Errors
    /// This source does not see births, or there are more than [`FOLLOWED_MOST`] processes.
    fn follow(&mut self, _: &[FollowedProcess]) -> Result<(), SourceError> {
        Err(SourceError::Unavailable {
            what: "this source cannot follow descendants".into(),
            advice: "use --source ledger".into(),
        })
    }

    /// True if the last snapshot is the first one of a new ledger, such as after a daemon's
    /// restart. Nothing can be subtracted from it, so the book begins again with it.
    fn has_begun_anew(&self) -> bool {
        false
    }
}
