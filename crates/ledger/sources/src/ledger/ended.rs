//! Slots of ended tasks whose last switch was not shown. The kernel's release of the task frees the
//! slot. A kernel may hide that too, so the reader checks these slots in each window.

use super::kernel_side::KernelSide;
use crate::error::SourceError;
use rustc_hash::FxHashSet;

/// The reader's memory of these slots.
#[derive(Default)]
pub struct EndedReader {
    waiting: FxHashSet<usize>,
}

impl EndedReader {
    /// Adds the slots found in this window, and frees each slot whose task is freed.
    pub fn read(&mut self, kernel: &KernelSide, found: &[usize]) -> Result<(), SourceError> {
        self.waiting.extend(found);
        let mut unfreed = FxHashSet::default();
        for &index in &self.waiting {
            if kernel.is_unfreed(index)? {
                unfreed.insert(index);
            }
        }
        self.waiting = unfreed;
        Ok(())
    }
}
