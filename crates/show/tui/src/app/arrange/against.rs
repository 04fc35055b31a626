//! Compares the rows of a frame with those of a marked window: earlier figures, and rows that only
//! one of them has. No I/O.

use super::line::{Line, RowPlace};
use super::rules::Rules;
use super::shares::{Share, Shares};
use super::subject::{Rank, Subject};
use super::{Arranged, RowId};
use exactop_model::columns::{Column, Context};
use exactop_model::frame::value::Datum;
use exactop_model::{ColumnId, Counter, Frame, Missing, Row, RowKind, Value};
use std::collections::{HashMap, HashSet};

/// A marked window with the rows of all tasks.
#[derive(Debug)]
pub struct MarkedWindow {
    /// When it was: its beginning in a recording, else the time on the screen.
    pub from: Option<String>,
    /// Its rows.
    pub frame: Frame,
    /// True if its rows are threads.
    pub threads: bool,
}

/// The marked window, arranged like the frame that is compared with it.
#[derive(Debug)]
pub(super) struct MarkedLines {
    then: Box<Arranged>,
    context: Context,
    /// Lines of the marked window by row.
    by_row: HashMap<RowId, usize>,
    /// Lines of tasks that have no row in the frame.
    gone: Vec<usize>,
    /// True if the frame is later than the marked window.
    is_later: bool,
}

/// A row's state in the marked window.
#[derive(Clone, Copy, Debug)]
pub enum PastRow<'a> {
    /// The row and its line at that time.
    There(&'a Row, &'a Line),
    /// No row.
    Absent,
    /// A row then, none now.
    Only,
}

/// A row's earlier state, and the inputs of its values at that time.
#[derive(Clone, Copy, Debug)]
pub struct RowComparison<'a> {
    /// The earlier state.
    pub was: PastRow<'a>,
    context: &'a Context,
    is_later: bool,
}

impl MarkedLines {
    /// `then`: the marked window, arranged with all rows; `context`: the inputs of its values.
    pub(super) fn new(then: Arranged, context: Context, frame: &Frame) -> MarkedLines {
        let by_row: HashMap<RowId, usize> =
            then.entries().enumerate().map(|(n, entry)| (entry.id(), n)).collect();
        let now: HashSet<RowId> =
            frame.rows.iter().chain(&frame.exited).map(RowId::from_row).collect();
        let gone = then.entries().enumerate().filter(|(_, entry)| !now.contains(&entry.id()));
        let gone = gone.map(|(n, _)| n).collect();
        let is_later = frame.t1_ns > then.frame.t1_ns;
        MarkedLines { gone, by_row, context, is_later, then: Box::new(then) }
    }

    fn line(&self, n: usize) -> (&Row, &Line) {
        let line = &self.then.lines[n];
        (self.then.rows().row(line.at), line)
    }

    fn was(&self, row: &Row) -> PastRow<'_> {
        match self.by_row.get(&RowId::from_row(row)) {
            Some(&n) => {
                let (row, line) = self.line(n);
                PastRow::There(row, line)
            }
            None => PastRow::Absent,
        }
    }
}

/// The rows of a frame, and of tasks that have exited since the mark.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) frame: &'a Frame,
    pub(super) against: Option<&'a MarkedLines>,
}

impl<'a> Rows<'a> {
    /// The row at a place.
    pub(super) fn row(self, at: RowPlace) -> &'a Row {
        match at {
            RowPlace::Live(i) => &self.frame.rows[i],
            RowPlace::Exited(i) => &self.frame.exited[i],
            RowPlace::Gone(i) => self.gone(i).0,
        }
    }

    /// Row and line of the n-th task that has exited since.
    fn gone(self, n: usize) -> (&'a Row, &'a Line) {
        let against = self.against.expect("a place that the marked window gave");
        against.line(against.gone[n])
    }

    /// The earlier state of a row.
    pub(super) fn versus(self, at: RowPlace) -> Option<RowComparison<'a>> {
        let against = self.against?;
        let was = match at {
            RowPlace::Gone(_) => PastRow::Only,
            at => against.was(self.row(at)),
        };
        let MarkedLines { context, is_later, .. } = against;
        Some(RowComparison { was, context, is_later: *is_later })
    }

    /// Rows that may be shown: live ones of the requested kind, exited groups, and rows that have
    /// exited since the mark. Looks up each row's earlier state once.
    pub(super) fn subjects(self, rules: &Rules, shares: &Shares) -> Vec<Subject<'a>> {
        let (frame, kind) = (self.frame, rules.kind());
        let live =
            (0..frame.rows.len()).filter(|&i| frame.rows[i].kind == kind).map(RowPlace::Live);
        let exited = (0..frame.exited.len()).map(RowPlace::Exited);
        let gone = (0..self.against.map_or(0, |against| against.gone.len())).map(RowPlace::Gone);
        let all = live.chain(exited).chain(gone);
        all.map(|at| self.subject(at, rules, shares)).collect()
    }

    fn subject(self, at: RowPlace, rules: &Rules, shares: &Shares) -> Subject<'a> {
        let (row, versus) = (self.row(at), self.versus(at));
        let versus = versus.as_ref();
        let value = |column| shown(row, versus, column, &rules.context);
        let (column, descending) = (rules.sort.column, rules.sort.descending);
        let order = match row.run_with_exited_ns() {
            Some(ns) if column.of_branch => branch(row, ns, versus, &rules.context),
            _ => value(column),
        };
        let tie = (row.key.tgid, row.key.tid, row.ident.ppid, row.ident.comm);
        Subject {
            at,
            row,
            share: match at {
                RowPlace::Live(i) => shares.live[i],
                RowPlace::Exited(i) => shares.exited[i],
                RowPlace::Gone(n) => {
                    let then = self.gone(n).1;
                    Share { own: then.cpu_tenths, with_exited: then.cpu_plus_tenths }
                }
            },
            rank: Rank::new(order, descending, tie),
            passes: rules.filters.iter().all(|filter| match filter.column().id {
                ColumnId::Command => filter.keeps(row, &rules.context),
                _ => filter.holds(value(filter.column())),
            }) && !(rules.only_new && versus.is_some_and(|versus| !versus.is_new(row))),
            is_idle: !is_busy(row) && !versus.is_some_and(RowComparison::was_busy),
            branch_then: versus.map(RowComparison::branch),
            kept: false,
        }
    }
}

/// The value of a column in a row: against a marked window, the change of a figure.
pub(super) fn shown(
    row: &Row,
    versus: Option<&RowComparison>,
    column: &Column,
    context: &Context,
) -> Value {
    match versus {
        Some(versus) => versus.value(row, column, context),
        None => (column.value)(row, context),
    }
}

/// A parent's CPU time for sorting, where its lines stay together: the lines of its exited children
/// follow it.
fn branch(row: &Row, run_ns: u64, versus: Option<&RowComparison>, now: &Context) -> Value {
    let Some(versus) = versus else { return Value::Known(Datum::Ns(run_ns)) };
    versus.change(row, now, |row, context| {
        Value::share(row.run_with_exited_ns(), context.window_ns, Missing::Source)
    })
}

fn is_busy(row: &Row) -> bool {
    match row.kind {
        RowKind::Exited => row.delta.get(Counter::RunNs) != Some(0),
        _ => row.letter == 'R' || row.run_with_exited_ns() != Some(0),
    }
}

impl RowComparison<'_> {
    /// The value of a column: the change of a figure; other values as they are.
    fn value(&self, row: &Row, column: &Column, now: &Context) -> Value {
        if matches!((column.id, &self.was), (ColumnId::S, PastRow::Only)) {
            // Both windows have every task: it has exited, or it was not yet there.
            return match self.is_later {
                true => Value::Known(Datum::Text("X".into())),
                false => Value::Missing(Missing::NotApplicable),
            };
        }
        if !column.is_figure() {
            return self.plain(row, column, now);
        }
        self.change(row, now, |row, context| match self.was {
            PastRow::Absent | PastRow::Only if column.is_of_own_time() => {
                Value::Missing(Missing::NotApplicable)
            }
            _ => (column.value)(row, context),
        })
    }

    /// The row's own value of a column.
    fn plain(&self, row: &Row, column: &Column, now: &Context) -> Value {
        let context = if matches!(self.was, PastRow::Only) { self.context } else { now };
        (column.value)(row, context)
    }

    /// The change of a value.
    fn change(&self, row: &Row, now: &Context, value: impl Fn(&Row, &Context) -> Value) -> Value {
        match self.was {
            PastRow::There(then, _) => value(row, now).change_since(&value(then, self.context)),
            PastRow::Absent => value(row, now).change_since_nothing(),
            PastRow::Only => value(row, self.context).change_to_nothing(),
        }
    }

    /// The mark in front of the command of a row that only one of the windows has.
    pub fn mark(&self) -> &'static str {
        match self.was {
            PastRow::Absent => "+ ",
            PastRow::Only => "- ",
            PastRow::There(..) => "",
        }
    }

    /// The change in tenths of a per cent that are rounded together with other rows.
    pub fn tenths(
        &self,
        row: Option<i64>,
        then: impl Fn(&Row, &Line) -> Option<i64>,
    ) -> Option<i64> {
        match self.was {
            PastRow::There(was, line) => Some(row? - then(was, line)?),
            PastRow::Absent => row,
            PastRow::Only => Some(-row?),
        }
    }

    /// True if the marked window lacks the row, or the row had fewer threads then.
    fn is_new(&self, row: &Row) -> bool {
        match self.was {
            PastRow::There(then, _) => row.threads > then.threads,
            PastRow::Absent => true,
            PastRow::Only => false,
        }
    }

    /// True if the row was active in the marked window.
    fn was_busy(&self) -> bool {
        matches!(self.was, PastRow::There(then, _) if is_busy(then))
    }

    /// Tenths of a per cent that its branch used in the marked window; `None` if it was not there.
    fn branch(&self) -> Option<i64> {
        match self.was {
            PastRow::There(_, line) => line.cpu_plus_tenths,
            PastRow::Absent | PastRow::Only => Some(0),
        }
    }
}
