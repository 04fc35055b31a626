//! The windows of the selected task since it was selected, for its graph.

use super::arrange::RowId;
use super::{Action, App, Page};
use crate::keys::KeyCommand;
use exactop_model::{Frame, Row, TaskKey};
use std::collections::VecDeque;

/// Most windows that are remembered.
const KEPT: usize = 300;

/// The windows of one task, the newest last; `None`: a window without a row of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tracked {
    task: Option<TaskKey>,
    windows: VecDeque<Option<Row>>,
    until_ns: u64,
}

impl Tracked {
    /// Notes the task's row in a window, once.
    fn note(&mut self, task: TaskKey, row: Option<&Row>, frame: &Frame) {
        if self.task != Some(task) {
            *self = Tracked { task: Some(task), ..Tracked::default() };
        }
        if frame.is_since_boot() || frame.t1_ns <= self.until_ns {
            return;
        }
        self.until_ns = frame.t1_ns;
        self.windows.push_back(row.cloned());
        if self.windows.len() > KEPT {
            self.windows.pop_front();
        }
    }

    /// The last `most` windows of a task, if it is this one.
    pub(crate) fn last(&self, task: TaskKey, most: usize) -> Vec<Option<&Row>> {
        let skipped = self.windows.len().saturating_sub(most);
        match self.task == Some(task) {
            true => self.windows.iter().skip(skipped).map(Option::as_ref).collect(),
            false => Vec::new(),
        }
    }
}

impl App {
    /// Notes the window of the task whose graph is open, else of the selected one. A recording has
    /// no last windows, because its user moves in both directions.
    pub(super) fn note_tracked(&mut self) {
        let task = match (&self.page, self.selected()) {
            (Page::Graph(task), _) => *task,
            (_, Some(RowId::Task(task))) => task,
            _ => return,
        };
        if let Some(arranged) = self.arranged.as_ref().filter(|_| self.past.is_none()) {
            self.tracked.note(task, arranged.task(task), arranged.frame());
        }
    }

    /// Opens the graph of the marked row.
    pub(super) fn open_graph(&mut self) -> Action {
        match self.marked() {
            Some(id @ RowId::Task(task)) => {
                self.select_row(id);
                self.page = Page::Graph(task);
                self.note_tracked();
                self.rearranged()
            }
            Some(RowId::Exited(..)) => {
                self.complain("exited tasks have no graph: ↑ ↓ select a living one");
                Action::Draw
            }
            None => {
                self.complain("no process is selected: ↑ ↓ select one");
                Action::Draw
            }
        }
    }

    /// Keys on the graph; `None`: the key does what it does on every page that can be left.
    pub(super) fn on_graph(&mut self, command: KeyCommand) -> Option<Action> {
        match (command, &self.page) {
            (KeyCommand::Open, &Page::Graph(task)) => {
                self.page = Page::Process(super::ProcessPage::new(task));
                Some(self.attaching())
            }
            _ => None,
        }
    }
}
