//! Reads the figures of tasks in a window before they moved to another control group.

use super::closing::Closed;
use super::kernel_side::KernelSide;
use super::skel::types::ex_cum;
use super::tasks::{counters, Measured};
use crate::error::SourceError;
use exactop_model::ledger::snapshot::GroupMove;
use rustc_hash::FxHashMap;

/// The reader's memory of moves.
#[derive(Default)]
pub struct MoveReader {
    posted: u64,
    /// By the groups left and entered, cumulative. A pair without a move in a window is forgotten.
    sums: FxHashMap<(u64, u64), ex_cum>,
}

impl MoveReader {
    /// The pairs of groups with a move in the window that ends at T. A program posts a move before
    /// its CPU is seen outside of the programs, so the sums of closed windows stand still.
    pub fn read(
        &mut self,
        kernel: &KernelSide,
        closed: &Closed,
        measured: Measured,
    ) -> Result<Vec<GroupMove>, SourceError> {
        let mut before = std::mem::take(&mut self.sums);
        let posted = kernel.globals.moves_posted();
        if posted != self.posted {
            let mut left = false;
            for (key, sum) in kernel.moves()? {
                if key.epoch == closed.epoch {
                    left = true;
                    continue;
                }
                let pair = (key.from, key.to);
                let so_far = || before.remove(&pair).unwrap_or_default();
                add(self.sums.entry(pair).or_insert_with(so_far), &sum);
                kernel.forget_move(&key);
            }
            if !left {
                self.posted = posted;
            }
        }
        let moved = |(&(from, to), sum)| GroupMove { from, to, used: counters(sum, measured) };
        Ok(self.sums.iter().map(moved).collect())
    }
}

/// Adds the figures of EACH_FIGURE (bpf/ledger/exits.h).
fn add(sum: &mut ex_cum, more: &ex_cum) {
    sum.ns.iter_mut().zip(more.ns).for_each(|(sum, ns)| *sum += ns);
    sum.utime += more.utime;
    sum.stime += more.stime;
    sum.dispatches += more.dispatches;
    sum.vcx += more.vcx;
    sum.icx += more.icx;
    sum.wakeups += more.wakeups;
    sum.migrations += more.migrations;
    sum.signals += more.signals;
    sum.syscalls += more.syscalls;
    sum.given += more.given;
    sum.min_flt += more.min_flt;
    sum.maj_flt += more.maj_flt;
    sum.missed += more.missed;
}
