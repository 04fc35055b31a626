//! The page of one process: which rows belong to it and what they sum to.

use super::{App, Page};
use exactop_model::{Counter, Counters, Frame, Row, RowKind, TaskKey};
use std::cmp::Reverse;

/// What of a process is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shows {
    /// Where its time went, and its threads.
    #[default]
    Overview,
    /// Its system calls.
    Calls,
    /// What it was started with.
    Environment,
    /// Its open files.
    Files,
}

/// Which process, and how far down its threads the screen is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessPage {
    /// Its leader, or one of its threads where the source never saw the leader.
    pub key: TaskKey,
    /// What of it.
    pub shows: Shows,
    /// The first thread or line shown.
    pub top: usize,
    /// Whether the process is known to have exited. That a frame has no row of it says nothing:
    /// a source may not show one that did nothing.
    pub exited: bool,
}

impl ProcessPage {
    /// The page of a process.
    pub fn new(key: TaskKey) -> ProcessPage {
        ProcessPage { key, shows: Shows::Overview, top: 0, exited: false }
    }

    /// The row that stands for the process: its own, or its leader's or any thread's if it did
    /// nothing.
    pub fn row<'f>(&self, frame: &'f Frame) -> Option<&'f Row> {
        let ours = || frame.rows.iter().filter(|r| r.key.tgid == self.key.tgid);
        let process = ours().find(|r| r.kind == RowKind::Process);
        let leader = || ours().find(|r| r.key.is_leader());
        process.or_else(leader).or_else(|| ours().next()).filter(|r| self.is_it(r.key))
    }

    /// Whether a task with the process's number is of this process and not of a later one. Nobody
    /// in a process is older than its leader.
    fn is_it(&self, task: TaskKey) -> bool {
        match (self.key.is_leader(), task.is_leader()) {
            (true, true) => task.start_ns == self.key.start_ns,
            (true, false) => task.start_ns >= self.key.start_ns,
            (false, true) => task.start_ns <= self.key.start_ns,
            (false, false) => true,
        }
    }

    /// Its threads' rows, the busiest first.
    pub fn thread_rows<'f>(&self, frame: &'f Frame) -> Vec<&'f Row> {
        let ours = |r: &&Row| r.kind == RowKind::Task && r.key.tgid == self.key.tgid;
        let mut rows: Vec<&Row> = frame.rows.iter().filter(ours).collect();
        rows.sort_by_key(|row| (Reverse(row.delta.get(Counter::RunNs)), row.key.tid));
        rows
    }

    /// What the process did and the lives of its threads, in the window.
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
    /// The process of the open page if the frame has no row of it: someone must look whether it
    /// lives; the answer goes to [`App::set_exited`].
    pub fn missing_process(&self) -> Option<TaskKey> {
        let (page, frame) = (self.process_page()?, self.frame()?);
        page.row(frame).is_none().then_some(page.key)
    }

    /// Tells the open page whether its process has exited.
    pub fn set_exited(&mut self, exited: bool) {
        if let Page::Process(page) = &mut self.page {
            page.exited = exited;
        }
    }
}
