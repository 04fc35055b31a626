//! The page of one process: which rows belong to it and what they sum to.

use exactop_model::{Counter, Counters, Frame, Row, RowKind, TaskKey};
use std::cmp::Reverse;

/// Which process, and how far down its threads the screen is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessPage {
    /// Its leader.
    pub key: TaskKey,
    /// The first thread shown.
    pub top: usize,
}

impl ProcessPage {
    /// The row that stands for the process: its own, or its leader's if it did nothing.
    pub fn row<'f>(&self, frame: &'f Frame) -> Option<&'f Row> {
        let ours = |r: &&Row| r.key.tgid == self.key.tgid;
        let process = frame.rows.iter().filter(ours).find(|r| r.kind == RowKind::Process);
        let leader = || frame.rows.iter().filter(ours).find(|r| r.key.is_leader());
        process.or_else(leader).filter(|r| r.key.start_ns == self.key.start_ns)
    }

    /// Indexes of its threads' rows, the busiest first.
    pub fn thread_rows(&self, frame: &Frame) -> Vec<usize> {
        let ours = |r: &Row| r.kind == RowKind::Task && r.key.tgid == self.key.tgid;
        let mut rows: Vec<usize> =
            (0..frame.rows.len()).filter(|&i| ours(&frame.rows[i])).collect();
        rows.sort_by_key(|&i| {
            let row = &frame.rows[i];
            (Reverse(row.delta.get(Counter::RunNs)), row.key.tid)
        });
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
        for i in self.thread_rows(frame) {
            sum.add(&frame.rows[i].delta);
            life_ns += frame.rows[i].life_ns;
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
