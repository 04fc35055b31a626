//! Tags: several rows for one signal, nice value, list of CPUs or control group.

use super::answering::INIT;
use super::arrange::RowId;
use super::question::{Prompt, Question};
use super::target::{all, ProcessAction, Target};
use super::{Action, App, Page};
use crate::keys::KeyCommand;
use crate::signals;
use exactop_model::TaskKey;
/// Tasks by key, in the order of tagging.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tags(Vec<TaskKey>);

impl Tags {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn has(&self, id: RowId) -> bool {
        matches!(id, RowId::Task(key) if self.0.contains(&key))
    }
}

impl App {
    /// Tags the selected row and selects the next, or removes its tag. `None`: no row is selected.
    pub(super) fn on_tag(&mut self) -> Option<Action> {
        let (Page::Table, false, Some(id)) = (&self.page, self.past.is_some(), self.selected())
        else {
            return None;
        };
        let RowId::Task(key) = id else {
            self.complain("an exited task cannot be tagged");
            return Some(Action::Draw);
        };
        if key.tgid == INIT {
            self.complain("process 1 cannot be tagged: select it and type its PID");
            return Some(Action::Draw);
        }
        match self.table.tags.0.iter().position(|tagged| *tagged == key) {
            Some(at) => {
                self.table.tags.0.remove(at);
            }
            None => self.table.tags.0.push(key),
        }
        Some(self.move_selection(KeyCommand::Down))
    }

    pub(super) fn untag(&mut self) {
        self.table.tags = Tags::default();
    }

    /// True if rows are tagged: an action then affects only those.
    pub fn has_tags(&self) -> bool {
        !self.table.tags.is_empty()
    }

    /// Drops the tags of exited tasks. A process's page has no rows of idle tasks, so nothing is
    /// dropped there.
    pub(super) fn forget_gone_tags(&mut self) {
        let has_everyone = self.process_page().is_none() && self.past.is_none();
        if let Some(arranged) = self.arranged.as_ref().filter(|_| has_everyone) {
            self.table.tags.0.retain(|&key| arranged.task(key).is_some());
        }
    }

    /// The targets of an action on the tagged rows, each once.
    fn tagged(&self, deed: ProcessAction) -> Vec<Target> {
        let Some(arranged) = &self.arranged else { return Vec::new() };
        let mut targets: Vec<Target> = Vec::new();
        for &key in &self.table.tags.0 {
            let Some(target) = arranged.target(RowId::Task(key), deed) else { continue };
            if targets.iter().all(|other| other.key != target.key) {
                targets.push(target);
            }
        }
        targets
    }

    /// The question for an action on the tagged rows, or why one of them refuses it. `None`: no row
    /// is tagged.
    pub(super) fn ask_of_tagged(
        &self,
        deed: ProcessAction,
    ) -> Option<Result<Prompt, &'static str>> {
        if self.process_page().is_some() || self.table.tags.is_empty() {
            return None;
        }
        let targets = self.tagged(deed);
        if targets.is_empty() {
            // Not the selected row: the user did not tag it.
            return Some(Ok(Prompt::for_target(deed, None)));
        }
        if let Some(why) = targets.iter().find_map(|target| target.refuses(deed)) {
            return Some(Err(why));
        }
        let whom = all(&targets);
        Some(Ok(match deed {
            ProcessAction::Kill => {
                let label = format!("signal for {whom}");
                Prompt::new(Question::KillTagged(targets), label, Some("15 TERM".into()))
            }
            ProcessAction::Renice => {
                let label = format!("nice value for {whom}, -20 to 19");
                Prompt::new(Question::ReniceTagged(targets), label, None)
            }
            ProcessAction::Affinity | ProcessAction::Move => Prompt::for_placement(deed, targets),
        }))
    }

    /// The targets that are still the same tasks.
    pub(super) fn still_there(&mut self, targets: Vec<Target>) -> Vec<Target> {
        let there: Vec<Target> =
            targets.iter().filter(|target| !self.is_replaced(target)).cloned().collect();
        if there.is_empty() {
            self.complain(format!("{} have exited: nothing done", all(&targets)));
        }
        there
    }

    /// Reports the result for all of them.
    pub fn done_to_all(&mut self, what: &str, results: Vec<(Target, Result<(), String>)>) {
        let count = results.len();
        let failed = results.iter().filter(|(_, result)| result.is_err()).count();
        let only = results.first().filter(|_| count == 1).map(|(target, _)| target.shown());
        let whom = only.unwrap_or_else(|| format!("{count} processes"));
        match results.into_iter().find_map(|(_, result)| result.err()) {
            None => self.say(format!("{what} for {whom}")),
            Some(why) if count == 1 => self.complain(why),
            Some(why) => self.complain(format!("{what} for {} of {count}: {why}", count - failed)),
        }
        // An action on the process of an open page is not one on the tagged rows.
        if self.process_page().is_none() {
            self.untag();
        }
    }
}

/// A signal in words.
pub(crate) fn sent(signal: i32) -> String {
    format!("{} sent", signals::name(signal))
}
