//! Selects and orders the rows on the screen: a frame together with its lines. No I/O.
//!
//! Only this module knows the place of a line's row in its frame (`RowPlace`). A frame and its lines are
//! one value, made and replaced together, so that a place in one frame cannot be used with another.
//! What outlives a frame is a [`RowId`].

mod against;
mod line;
mod lines;
mod rules;
mod shares;
mod subject;

pub use against::{MarkedWindow, PastRow, RowComparison};
pub use line::{Fold, Line};
pub use rules::{Rules, UserFilter};

use against::{MarkedLines, Rows};
use exactop_model::columns::{Column, Context};
use exactop_model::{Comm, Frame, Needs, Row, RowKind, TaskKey, Value};
use line::RowPlace;
use shares::Shares;
use std::collections::HashSet;

/// Identity of a row, stable from one frame to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowId {
    /// A process or a thread.
    Task(TaskKey),
    /// An exited group: living ancestor, name, cgroup, user; and whether it holds whole processes
    /// or only threads.
    Exited(u32, Comm, Option<u64>, Option<u32>, bool),
}

impl RowId {
    /// The id of a row.
    pub fn from_row(row: &Row) -> RowId {
        match row.kind {
            RowKind::Exited => RowId::Exited(
                row.ident.ppid,
                row.ident.comm,
                row.ident.cgroup_id,
                row.exited_uid,
                row.exited_processes > 0,
            ),
            _ => RowId::Task(row.key),
        }
    }
}

/// A line of the table and its row.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // Their names say it.
pub struct Entry<'a> {
    pub line: &'a Line,
    /// The row of the line.
    pub row: &'a Row,
    /// The row's earlier state, if a window is marked.
    pub versus: Option<RowComparison<'a>>,
}

impl Entry<'_> {
    /// Identity of the row, stable across frames.
    pub fn id(&self) -> RowId {
        RowId::from_row(self.row)
    }

    /// The value of a column: against a marked window, the change of a figure.
    pub fn value(&self, column: &Column, context: &Context) -> Value {
        against::shown(self.row, self.versus.as_ref(), column, context)
    }
}

/// Reads details for rows: the feed's [`exactop_model::Feed::details`].
pub type ReadDetails<'a> = &'a mut dyn FnMut(&mut [&mut Row], Needs);

/// A frame and its lines.
#[derive(Debug)]
pub struct Arranged {
    frame: Frame,
    lines: Vec<Line>,
    threads: bool,
    against: Option<MarkedLines>,
}

impl Arranged {
    /// Arranges a frame; `marked`: compared with this window, arranged by these rules.
    pub fn new(frame: Frame, rules: &Rules, marked: Option<(&MarkedWindow, Rules)>) -> Arranged {
        let against = marked.map(|(marked, rules)| {
            let then = Arranged::new(marked.frame.clone(), &rules, None);
            MarkedLines::new(then, rules.context, &frame)
        });
        let rows = Rows { frame: &frame, against: against.as_ref() };
        let shares = Shares::new(&frame, rules.kind(), &rules.context);
        let mut subjects = rows.subjects(rules, &shares);
        rules.choose(&frame, &mut subjects);
        let lines = lines::lines(&subjects, rules);
        Arranged { threads: rules.threads, lines, frame, against }
    }

    fn rows(&self) -> Rows<'_> {
        Rows { frame: &self.frame, against: self.against.as_ref() }
    }

    /// The frame, to be arranged in another way, and whether its rows are threads.
    pub(super) fn take_apart(self) -> (Frame, bool) {
        (self.frame, self.threads)
    }

    /// The arranged frame.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// True if the frame's rows are threads.
    pub fn has_threads(&self) -> bool {
        self.threads
    }

    /// Number of lines.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// True if there are no lines.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The n-th line.
    pub fn entry(&self, n: usize) -> Option<Entry<'_>> {
        self.lines.get(n).map(|line| self.entry_of_line(line))
    }

    /// All lines.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = Entry<'_>> {
        self.lines.iter().map(|line| self.entry_of_line(line))
    }

    fn entry_of_line<'a>(&'a self, line: &'a Line) -> Entry<'a> {
        let rows = self.rows();
        Entry { line, row: rows.row(line.at), versus: rows.versus(line.at) }
    }

    /// The line of a row in the table now.
    pub fn place(&self, id: RowId) -> Option<usize> {
        self.entries().position(|entry| entry.id() == id)
    }

    /// The row of a task, also if the table does not show it.
    pub fn task(&self, key: TaskKey) -> Option<&Row> {
        self.frame.rows.iter().find(|row| row.key == key)
    }

    /// Reads details for the rows of `count` lines from `from` on.
    pub(super) fn read_lines(
        &mut self,
        from: usize,
        count: usize,
        needs: Needs,
        read: ReadDetails,
    ) {
        let places = self.lines.iter().skip(from).take(count).filter_map(|line| match line.at {
            RowPlace::Live(i) => Some(i),
            RowPlace::Exited(_) | RowPlace::Gone(_) => None,
        });
        let places: HashSet<usize> = places.collect();
        let rows = self.frame.rows.iter_mut().enumerate();
        let wanted = rows.filter(|(i, _)| places.contains(i)).map(|(_, row)| row);
        read_rows(wanted.collect(), needs, read);
    }

    /// Reads details for the selected rows.
    pub(super) fn read_where(
        &mut self,
        wanted: impl Fn(&Row) -> bool,
        needs: Needs,
        read: ReadDetails,
    ) {
        let rows = self.frame.rows.iter_mut().filter(|row| wanted(row));
        read_rows(rows.collect(), needs, read);
    }
}

fn read_rows(mut rows: Vec<&mut Row>, needs: Needs, read: ReadDetails) {
    if !rows.is_empty() {
        read(&mut rows, needs);
    }
}
