//! Reads the use of tasks in a window before they moved to another control group.

use super::closing::Closed;
use super::kernel_side::KernelSide;
use crate::error::SourceError;
use exactop_model::ledger::snapshot::GroupMove;
use rustc_hash::FxHashMap;

/// The reader's memory of all moves.
#[derive(Default)]
pub struct MoveReader {
    posted: u64,
    sums: FxHashMap<(u64, u64), GroupMove>,
}

impl MoveReader {
    /// All moves as of T, cumulative. A program posts a move before its CPU is seen outside of the
    /// programs, so the sums of closed windows stand still.
    pub fn read(
        &mut self,
        kernel: &KernelSide,
        closed: &Closed,
    ) -> Result<Vec<GroupMove>, SourceError> {
        let posted = kernel.globals.moves_posted();
        if posted != self.posted {
            let mut left = false;
            for (key, sum) in kernel.moves()? {
                if key.epoch == closed.epoch {
                    left = true;
                    continue;
                }
                let nothing = GroupMove { from: key.from, to: key.to, ..GroupMove::default() };
                let so_far = self.sums.entry((key.from, key.to)).or_insert(nothing);
                so_far.run_ns += sum.run;
                so_far.lat_ns += sum.lat;
                so_far.throttle_ns += sum.throttle;
                kernel.forget_move(&key);
            }
            if !left {
                self.posted = posted;
            }
        }
        Ok(self.sums.values().copied().collect())
    }
}
