//! The rows of a frame against those of a marked window: what each was then, and who is in one of
//! the two only. Pure.

use super::line::{At, Line};
use super::{Arranged, RowId};
use exactop_model::columns::{Column, Context};
use exactop_model::{Frame, Missing, Row, Value};
use std::collections::{HashMap, HashSet};

/// A window that was marked, with everyone's row.
#[derive(Debug)]
pub struct Marked {
    /// When it was: its beginning in a recording, the time on the screen else.
    pub from: Option<String>,
    /// Its rows.
    pub frame: Frame,
    /// They are of threads.
    pub threads: bool,
}

/// The marked window, arranged as the frame is that it stands against.
#[derive(Debug)]
pub(super) struct Against {
    then: Box<Arranged>,
    context: Context,
    /// The lines of the marked window.
    by_row: HashMap<RowId, usize>,
    /// Those of whom the frame has no row.
    gone: Vec<usize>,
}

/// What a row was in the marked window.
#[derive(Clone, Copy, Debug)]
pub enum Was<'a> {
    /// This.
    There(&'a Row, &'a Line),
    /// Not there.
    Absent,
    /// It was there and is not now: the row is of then.
    Only,
}

/// A row's past, and what its values depended on then.
#[derive(Clone, Copy, Debug)]
pub struct Versus<'a> {
    /// What it was.
    pub was: Was<'a>,
    context: &'a Context,
}

impl Against {
    /// `then`: the marked window, arranged with everyone kept; `context`: what its values depend on.
    pub(super) fn new(then: Arranged, context: Context, frame: &Frame) -> Against {
        let by_row: HashMap<RowId, usize> =
            then.entries().enumerate().map(|(n, entry)| (entry.id(), n)).collect();
        let now: HashSet<RowId> = frame.rows.iter().chain(&frame.exited).map(RowId::of).collect();
        let gone = then.entries().enumerate().filter(|(_, entry)| !now.contains(&entry.id()));
        let gone = gone.map(|(n, _)| n).collect();
        Against { gone, by_row, context, then: Box::new(then) }
    }

    /// The places of those who are gone.
    pub(super) fn gone(&self) -> impl Iterator<Item = At> + use<> {
        (0..self.gone.len()).map(At::Gone)
    }

    fn line(&self, n: usize) -> (&Row, &Line) {
        let line = &self.then.lines[n];
        (self.then.rows().row(line.at), line)
    }

    fn was(&self, row: &Row) -> Was<'_> {
        match self.by_row.get(&RowId::of(row)) {
            Some(&n) => {
                let (row, line) = self.line(n);
                Was::There(row, line)
            }
            None => Was::Absent,
        }
    }
}

/// The rows of a frame, and of those who are gone.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) frame: &'a Frame,
    pub(super) against: Option<&'a Against>,
}

impl<'a> Rows<'a> {
    /// The row at a place.
    pub(super) fn row(self, at: At) -> &'a Row {
        match at {
            At::Live(i) => &self.frame.rows[i],
            At::Exited(i) => &self.frame.exited[i],
            At::Gone(i) => self.gone(i).expect("a place that the marked window gave").0,
        }
    }

    /// Of the n-th who is gone, the row and the line of then.
    pub(super) fn gone(self, n: usize) -> Option<(&'a Row, &'a Line)> {
        let against = self.against?;
        Some(against.line(*against.gone.get(n)?))
    }

    /// What stands against a row.
    pub(super) fn versus(self, at: At) -> Option<Versus<'a>> {
        let against = self.against?;
        let was = match at {
            At::Gone(_) => Was::Only,
            at => against.was(self.row(at)),
        };
        Some(Versus { was, context: &against.context })
    }
}

impl Versus<'_> {
    /// What is shown of a column: of a figure its change, of all else what it is.
    pub(super) fn value(&self, row: &Row, column: &Column, now: &Context) -> Value {
        if !column.is_figure() {
            return self.plain(row, column, now);
        }
        self.change(row, now, |row, context| match self.was {
            Was::Absent | Was::Only if column.is_of_own_time() => {
                Value::Missing(Missing::NotApplicable)
            }
            _ => (column.value)(row, context),
        })
    }

    /// What a column says of the row itself.
    pub(super) fn plain(&self, row: &Row, column: &Column, now: &Context) -> Value {
        let context = if matches!(self.was, Was::Only) { self.context } else { now };
        (column.value)(row, context)
    }

    /// By how much something changed.
    pub(super) fn change(
        &self,
        row: &Row,
        now: &Context,
        value: impl Fn(&Row, &Context) -> Value,
    ) -> Value {
        match self.was {
            Was::There(then, _) => value(row, now).change_since(&value(then, self.context)),
            Was::Absent => value(row, now).change_since_nothing(),
            Was::Only => value(row, self.context).change_to_nothing(),
        }
    }

    /// By how much tenths of a per cent, rounded with those of others, changed.
    pub fn tenths(
        &self,
        row: Option<i64>,
        then: impl Fn(&Row, &Line) -> Option<i64>,
    ) -> Option<i64> {
        match self.was {
            Was::There(was, line) => Some(row? - then(was, line)?),
            Was::Absent => row,
            Was::Only => Some(-row?),
        }
    }

    /// Whether it did something in the marked window, beside what `row` says.
    pub(super) fn did(&self, does: impl Fn(&Row) -> bool) -> bool {
        matches!(self.was, Was::There(then, _) if does(then))
    }
}
