//! State shared by writer and reader after each frame: the texts so far, and the last rows.

use crate::bounds::CELLS;
use crate::error::Bad;
use crate::rows::DetailKey;
use crate::schema::Which;
use crate::strings::Strings;
use crate::values::Before;
use exactop_model::AccountId;

/// Texts and rows since the last keyframe.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub strings: Strings,
    before: [Before; Which::ALL.len()],
}

impl State {
    pub fn before(&self, which: Which) -> &Before {
        &self.before[which as usize]
    }

    pub fn before_mut(&mut self, which: Which) -> &mut Before {
        &mut self.before[which as usize]
    }

    /// Table that holds details of this key.
    pub fn details(&self, key: DetailKey) -> &Before {
        self.before(if key.is_task { Which::TaskDetail } else { Which::ProcessDetail })
    }

    /// Fails if more rows are remembered than the limit allows.
    pub fn check(&self) -> Result<(), Bad> {
        let cells: usize = self.before.iter().map(Before::cells).sum();
        (cells <= CELLS).then_some(()).ok_or(Bad::TooMuch)
    }

    /// Forgets exited tasks; writer and reader do it the same way.
    pub fn forget(&mut self, complete: bool, gone: &[AccountId]) {
        let accounts = [Which::Task, Which::TaskDetail, Which::ProcessDetail];
        // Tables without accounts remember only the rows of the last list.
        for which in Which::ALL.into_iter().filter(|which| !accounts.contains(which)) {
            self.before_mut(which).keep_listed();
        }
        if complete {
            self.before_mut(Which::Task).keep_listed();
            let living = std::mem::take(self.before_mut(Which::Task));
            for which in [Which::TaskDetail, Which::ProcessDetail] {
                self.before_mut(which).keep(|account| living.row(account).is_some());
            }
            *self.before_mut(Which::Task) = living;
        }
        for account in gone {
            accounts.iter().for_each(|&which| self.before_mut(which).forget(account.0));
        }
    }
}
