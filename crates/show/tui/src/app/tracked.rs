//! The last windows of the selected task, for its graph: those since it was selected, and those that
//! the feed keeps from before.

use super::arrange::RowId;
use super::{Action, App, Page};
use crate::keys::KeyCommand;
use exactop_model::feed::{KeptAsk, KeptRow};
use exactop_model::{Counter, Frame, Row, TaskKey};
use std::collections::VecDeque;

/// Most windows that are remembered.
const KEPT: usize = 300;

/// The windows of one task, the newest last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tracked {
    task: Option<TaskKey>,
    windows: VecDeque<KeptRow>,
    until_ns: u64,
    /// True if the feed has no earlier window.
    complete: bool,
}

impl Tracked {
    /// Begins with this task, unless the windows are its own.
    fn begin(&mut self, task: TaskKey) {
        if self.task != Some(task) {
            *self = Tracked { task: Some(task), ..Tracked::default() };
        }
    }

    /// Puts earlier windows in front.
    fn put_in_front(&mut self, earlier: Vec<KeptRow>) {
        self.complete = earlier.is_empty();
        for kept in earlier.into_iter().rev() {
            if self.windows.len() < KEPT {
                self.until_ns = self.until_ns.max(kept.t1_ns);
                self.windows.push_front(kept);
            }
        }
    }

    /// Notes the task's row in a window, once.
    pub(super) fn note(&mut self, task: TaskKey, row: Option<&Row>, frame: &Frame) {
        self.begin(task);
        if frame.is_since_boot() || frame.t1_ns <= self.until_ns {
            return;
        }
        self.until_ns = frame.t1_ns;
        let (t0_ns, t1_ns) = (frame.t0_ns, frame.t1_ns);
        self.windows.push_back(KeptRow { t0_ns, t1_ns, row: row.cloned() });
        if self.windows.len() > KEPT {
            self.windows.pop_front();
        }
    }

    /// The last `most` windows of a task, if it is this one.
    pub(crate) fn last(&self, task: TaskKey, most: usize) -> Vec<&KeptRow> {
        let skipped = self.windows.len().saturating_sub(most);
        match self.task == Some(task) {
            true => self.windows.iter().skip(skipped).collect(),
            false => Vec::new(),
        }
    }
}

/// Parts of a task's life that the header draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskPart {
    /// Executing.
    Run,
    /// Waiting for a CPU or a quota.
    Wait,
    /// Held up by a lock, a page fault, a disk.
    Blocked,
}

impl TaskPart {
    pub(crate) const ALL: [TaskPart; 3] = [TaskPart::Run, TaskPart::Wait, TaskPart::Blocked];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            TaskPart::Run => "run",
            TaskPart::Wait => "wait",
            TaskPart::Blocked => "blocked",
        }
    }

    const fn counters(self) -> &'static [Counter] {
        match self {
            TaskPart::Run => &[Counter::RunNs],
            TaskPart::Wait => &[Counter::LatNs, Counter::ThrottleNs],
            TaskPart::Blocked => {
                &[Counter::LockNs, Counter::TextFaultNs, Counter::DataFaultNs, Counter::BlockNs]
            }
        }
    }

    /// The part of a row's life in the window; `None`: the source does not know it.
    fn of_row(self, row: &Row) -> Option<f32> {
        let ns = self.counters().iter().map(|&counter| row.delta.get(counter));
        let ns = ns.sum::<Option<u64>>()?;
        (row.life_ns > 0).then(|| (ns as f64 / row.life_ns as f64) as f32)
    }
}

impl Tracked {
    /// A part of the last `most` windows of the task, back to the last window that lacks it.
    pub(crate) fn part(&self, part: TaskPart, most: usize) -> Vec<f32> {
        let of_window = |kept: &KeptRow| part.of_row(kept.row.as_ref()?);
        let mut parts: Vec<f32> =
            self.windows.iter().rev().map_while(of_window).take(most).collect();
        parts.reverse();
        parts
    }
}

impl App {
    /// Number of the last windows of the selected row; 0 if no living row is selected.
    pub(crate) fn windows_of_selected(&self) -> usize {
        match (self.selected(), self.tracked.task) {
            (Some(RowId::Task(key)), Some(task)) if key == task && self.past.is_none() => {
                self.tracked.windows.len()
            }
            _ => 0,
        }
    }

    /// The task whose graph is open, else the selected one.
    pub(super) fn tracked_task(&self) -> Option<TaskKey> {
        match (&self.page, self.selected()) {
            (&Page::Graph(task), _) | (_, Some(RowId::Task(task))) => Some(task),
            _ => None,
        }
    }

    /// Notes the window of this task. A recording has no last windows, because its user moves in
    /// both directions.
    pub(super) fn note_tracked(&mut self) {
        let Some(task) = self.tracked_task() else { return };
        self.tracked.begin(task);
        if let Some(arranged) = self.arranged.as_ref().filter(|_| self.past.is_none()) {
            self.tracked.note(task, arranged.task(task), arranged.frame());
        }
    }

    /// Earlier windows that the open graph has room for and the feed may keep.
    pub(crate) fn wants_kept_rows(&self) -> Option<KeptAsk> {
        let Page::Graph(task) = self.page else { return None };
        let tracked = &self.tracked;
        let most = KEPT.min(self.size.0.into()).checked_sub(tracked.windows.len())?;
        let wants = tracked.task == Some(task) && !tracked.complete && most > 0;
        let until_ns = tracked.windows.front().map_or(u64::MAX, |oldest| oldest.t0_ns);
        wants.then_some(KeptAsk { task, thread: self.shows_threads(), until_ns, most })
    }

    /// Takes the feed's answer.
    pub(crate) fn take_kept_rows(&mut self, earlier: Vec<KeptRow>) {
        self.tracked.put_in_front(earlier);
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
