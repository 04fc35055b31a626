//! State shared by writer and reader after each frame: the texts so far, and the last rows.

use crate::bounds::CELLS;
use crate::error::FrameError;
use crate::rows::DetailKey;
use crate::schema::TableId;
use crate::strings::Strings;
use crate::values::PreviousRows;
use exactop_model::AccountId;

/// Texts and rows since the last keyframe.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub strings: Strings,
    before: [PreviousRows; TableId::ALL.len()],
}

impl State {
    pub fn before(&self, which: TableId) -> &PreviousRows {
        &self.before[which as usize]
    }

    pub fn before_mut(&mut self, which: TableId) -> &mut PreviousRows {
        &mut self.before[which as usize]
    }

    /// Table that holds details of this key.
    pub fn details(&self, key: DetailKey) -> &PreviousRows {
        self.before(if key.is_task { TableId::TaskDetail } else { TableId::ProcessDetail })
    }

    /// Fails if more rows are remembered than the limit allows.
    pub fn check(&self) -> Result<(), FrameError> {
        let cells: usize = self.before.iter().map(PreviousRows::cells).sum();
        (cells <= CELLS).then_some(()).ok_or(FrameError::TooMuch)
    }

    /// Forgets exited tasks; writer and reader do it the same way.
    pub fn forget(&mut self, complete: bool, gone: &[AccountId]) {
        let accounts = [TableId::Task, TableId::TaskDetail, TableId::ProcessDetail];
        // Tables without accounts remember only the rows of the last list.
        for &which in TableId::ALL.iter().filter(|which| !accounts.contains(which)) {
            self.before_mut(which).keep_listed();
        }
        if complete {
            self.before_mut(TableId::Task).keep_listed();
            let living = std::mem::take(self.before_mut(TableId::Task));
            for which in [TableId::TaskDetail, TableId::ProcessDetail] {
                self.before_mut(which).keep(|account| living.row(account).is_some());
            }
            *self.before_mut(TableId::Task) = living;
        }
        for account in gone {
            accounts.iter().for_each(|&which| self.before_mut(which).forget(account.0));
        }
    }
}
