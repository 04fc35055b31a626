//! The page of one process: its rows and their sums.

use super::{App, Page};
use exactop_model::{Counter, Counters, Frame, Row, RowKind, TaskKey};
use std::cmp::Reverse;

/// Part of a process on its page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shows {
    /// Where its time went, and its threads.
    #[default]
    Overview,
    /// Its system calls.
    Calls,
    /// Its environment.
    Environment,
    /// Its open files.
    Files,
}

/// The process of the page, and the scroll position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessPage {
    /// Its leader, or one of its threads if the source never saw the leader.
    pub key: TaskKey,
    /// The part on the screen.
    pub shows: Shows,
    /// The first visible thread or line.
    pub top: usize,
    /// True if the process is known to have exited. A frame without its row does not prove that: a
    /// source may omit idle processes.
    pub exited: bool,
}

impl ProcessPage {
    /// The page of a process.
    pub fn new(key: TaskKey) -> ProcessPage {
        ProcessPage { key, shows: Shows::Overview, top: 0, exited: false }
    }

    /// The row of the process; if it was idle, its leader's row or that of any thread.
    pub fn row<'f>(&self, frame: &'f Frame) -> Option<&'f Row> {
        let ours = || frame.rows.iter().filter(|r| r.key.tgid == self.key.tgid);
        let process = ours().find(|r| r.kind == RowKind::Process);
        let leader = || ours().find(|r| r.key.is_leader());
        process.or_else(leader).or_else(|| ours().next()).filter(|r| self.is_it(r.key))
    }

    /// True if a task with the process's number belongs to this process and not to a later one. No
    /// thread is older than the leader.
    fn is_it(&self, task: TaskKey) -> bool {
        match (self.key.is_leader(), task.is_leader()) {
            (true, true) => task.start_ns == self.key.start_ns,
            (true, false) => task.start_ns >= self.key.start_ns,
            (false, true) => task.start_ns <= self.key.start_ns,
            (false, false) => true,
        }
    }

    /// Rows of its threads, the busiest first.
    pub fn thread_rows<'f>(&self, frame: &'f Frame) -> Vec<&'f Row> {
        let ours = |r: &&Row| r.kind == RowKind::Task && r.key.tgid == self.key.tgid;
        let mut rows: Vec<&Row> = frame.rows.iter().filter(ours).collect();
        rows.sort_by_key(|row| (Reverse(row.delta.get(Counter::RunNs)), row.key.tid));
        rows
    }

    /// Figures of the process, and the lives of its threads, in the window.
    pub fn sums(&self, frame: &Frame) -> Option<(Counters, u64)> {
        let row = self.row(frame)?;
        if row.kind == RowKind::Process {
            return Some((row.delta, row.life_ns));
        }
        let mut sum = Counters::zero();
        let mut life_ns = 0;
        for row in self.thread_rows(frame) {
            sum.add(&row.delta);
            life_ns += row.life_ns;
        }
        Some((sum, life_ns))
    }

    /// Groups of children that exited in the window, the largest first.
    pub fn exited<'f>(&self, frame: &'f Frame) -> Vec<&'f Row> {
        let ours = |r: &&Row| r.ident.ppid == self.key.tgid;
        let mut groups: Vec<&Row> = frame.exited.iter().filter(ours).collect();
        groups.sort_by_key(|r| (Reverse(r.delta.get(Counter::RunNs)), r.ident.comm));
        groups
    }
}

impl App {
    /// The process of the open page if the frame has no row of it. The caller checks whether it
    /// lives, and answers with [`App::set_exited`].
    pub fn missing_process(&self) -> Option<TaskKey> {
        let (page, frame) = (self.process_page()?, self.frame()?);
        page.row(frame).is_none().then_some(page.key)
    }

    /// Sets whether the open page's process has exited.
    pub fn set_exited(&mut self, exited: bool) {
        if let Page::Process(page) = &mut self.page {
            page.exited = exited;
        }
    }
}
