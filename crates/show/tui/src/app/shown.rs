//! The lines on the screen, kept between two looks. A line with the same values is neither
//! formatted nor drawn again.

use super::arrange::{Entry, RowId};
use super::App;
use crate::layout::PlacedColumn;
use exactop_model::columns::{Column, Context, Rounding};
use exactop_model::words::units;
use exactop_model::{Comm, Value};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use unicode_width::UnicodeWidthStr;

/// All inputs of a line's text besides the table's layout.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Values of the columns on the screen.
    values: Vec<Value>,
    cpu_tenths: Option<i64>,
    cpu_plus_tenths: Option<i64>,
    prefix: String,
    letter: char,
    exited: (u64, u64),
    /// Name of the task, which a thread shows beside its command line.
    comm: Comm,
    kthread: bool,
    pub(crate) tagged: bool,
}

/// Layout of the table; after a change no cached line is valid.
#[derive(Clone, Debug, PartialEq)]
struct Layout {
    placed: Vec<PlacedColumn>,
    context: Context,
    command_offset: usize,
    tree: bool,
    microstates: bool,
    marked: bool,
    /// The text to highlight.
    search: Option<String>,
}

/// The lines on the screen at the last look.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    layout: Option<Layout>,
    lines: Vec<Rc<Facts>>,
    by_row: FxHashMap<RowId, Rc<Facts>>,
}

impl Shown {
    /// Facts of the n-th line on the screen.
    pub(crate) fn line(&self, n: usize) -> Option<&Rc<Facts>> {
        self.lines.get(n)
    }
}

impl App {
    /// Notes the values of the lines on the screen. Columns grow to fit them.
    pub(crate) fn note_shown(&mut self) {
        let mut shown = std::mem::take(&mut self.table.shown);
        // Wider columns change the layout, perhaps with fewer columns, so it runs once more.
        for _ in 0..2 {
            let layout = self.layout();
            let same = shown.layout.as_ref().is_some_and(|l| l.holds_for(&layout));
            if !same {
                shown = Shown { layout: Some(layout.clone()), ..Shown::default() };
            }
            let lines = self.shown_entries().map(|entry| {
                (entry.id(), Facts::from_entry(entry, &layout, self.table.tags.has(entry.id())))
            });
            let (lines, new) = shown.merge(lines.collect(), layout.says_more());
            shown.lines = lines;
            if !self.grow_widths(&layout, &shown.lines, &new) {
                break;
            }
        }
        self.table.shown = shown;
    }

    fn layout(&self) -> Layout {
        Layout {
            placed: self.placed(),
            context: self.context(),
            command_offset: self.table.command_offset,
            tree: self.settings.tree,
            microstates: self.shows_microstates(),
            marked: self.table.marked.is_some(),
            search: self.table.search.clone(),
        }
    }

    /// True if a column grew.
    fn grow_widths(&mut self, layout: &Layout, lines: &[Rc<Facts>], new: &[usize]) -> bool {
        let (mut grown, mut text) = (false, String::new());
        for line in new.iter().map(|&n| &lines[n]) {
            for (p, value) in layout.placed.iter().zip(&line.values) {
                if !matches!(value, Value::Missing(_)) {
                    text.clear();
                    layout.push_cell(&mut text, value, p.column);
                    grown |= self.table.widths.grow(p.column, text.width());
                }
            }
        }
        grown
    }
}

impl Layout {
    /// Appends the text of a cell, unless it is rounded together with others.
    fn push_cell(&self, out: &mut String, value: &Value, column: &Column) {
        match self.marked && column.is_figure() {
            true => out.push_str(&units::change(value, column.unit)),
            false => units::push_cell(out, value, column.unit),
        }
    }

    /// True if lines depend on more than their facts: states are rounded with those that have no
    /// column, and changes with the marked window.
    fn says_more(&self) -> bool {
        let has_states =
            self.microstates || self.placed.iter().any(|p| p.column.rounding == Rounding::States);
        has_states || self.marked
    }

    /// True if texts of this layout are valid in the other. The window's length is ignored: the
    /// values already include it.
    fn holds_for(&self, other: &Layout) -> bool {
        let context = Context { window_ns: other.context.window_ns, ..self.context };
        context == other.context
            && self.command_offset == other.command_offset
            && self.search == other.search
            && (self.tree, self.microstates, self.marked)
                == (other.tree, other.microstates, other.marked)
            && self.placed == other.placed
    }
}

impl Facts {
    fn from_entry(entry: Entry, layout: &Layout, tagged: bool) -> Facts {
        let Entry { line, row, .. } = entry;
        let values = layout.placed.iter().map(|p| entry.value(p.column, &layout.context));
        Facts {
            values: values.collect(),
            cpu_tenths: line.cpu_tenths,
            cpu_plus_tenths: line.cpu_plus_tenths,
            prefix: line.prefix.clone(),
            letter: row.letter,
            exited: (row.exited_processes, row.exited_tasks),
            comm: row.ident.comm,
            kthread: row.ident.kthread,
            tagged,
        }
    }
}

impl Shown {
    /// The lines, reusing those with the same facts; and the indexes of new lines.
    fn merge(&mut self, lines: Vec<(RowId, Facts)>, all_new: bool) -> (Vec<Rc<Facts>>, Vec<usize>) {
        let before = std::mem::take(&mut self.by_row);
        let mut new = Vec::new();
        let mut merged = Vec::with_capacity(lines.len());
        for (id, facts) in lines {
            let same = before.get(&id).filter(|old| !all_new && ***old == facts);
            let facts = same.cloned().unwrap_or_else(|| {
                new.push(merged.len());
                Rc::new(facts)
            });
            self.by_row.insert(id, facts.clone());
            merged.push(facts);
        }
        (merged, new)
    }
}
