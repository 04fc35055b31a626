//! Branches of the tree that are folded into their first row.

use super::arrange::{Fold, RowId};
use super::{Action, App};
use crate::keys::KeyCommand;
use exactop_model::TaskKey;
use std::collections::HashSet;

impl App {
    /// Folds or unfolds the branch of the selected row.
    pub(super) fn on_fold(&mut self, command: KeyCommand) -> Action {
        if !self.settings.tree {
            self.say("only the tree has branches to fold: V shows the tree");
            return Action::Draw;
        }
        let arranged = self.arranged.as_ref();
        let entry = self.marked().and_then(|id| {
            let arranged = arranged?;
            arranged.entry(arranged.place(id)?)
        });
        let Some((RowId::Task(key), fold)) = entry.map(|entry| (entry.id(), entry.line.fold))
        else {
            self.complain("no process is selected: ↑ ↓ select one");
            return Action::Draw;
        };
        match (command, fold) {
            (_, Fold::Leaf) => {
                self.say("it has no rows below");
                return Action::Draw;
            }
            (KeyCommand::Fold, Fold::Folded(_)) => {
                self.say("it is folded: + unfolds it");
                return Action::Draw;
            }
            (KeyCommand::Unfold, Fold::Open) => {
                self.say("it is not folded: - folds it");
                return Action::Draw;
            }
            (_, Fold::Open) => self.table.folded.insert(key),
            (_, Fold::Folded(_)) => self.table.folded.remove(&key),
        };
        self.rearranged()
    }

    /// Drops the folds of exited tasks. A process's page has no rows of idle tasks, so nothing is
    /// dropped there.
    pub(super) fn forget_gone_folds(&mut self) {
        let has_everyone =
            self.settings.tree && self.process_page().is_none() && self.past.is_none();
        if let Some(arranged) = self.arranged.as_ref().filter(|_| has_everyone) {
            let living: HashSet<TaskKey> =
                arranged.frame().rows.iter().map(|row| row.key).collect();
            self.table.folded.retain(|key| living.contains(key));
        }
    }
}
