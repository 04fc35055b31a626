//! What tasks had used in a window when they came from one control group into another.

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
    /// All moves as of T, cumulative. Whoever posts one for a window has done so before the last of
    /// its CPUs was seen outside the programs: sums of windows that are over stand still.
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
