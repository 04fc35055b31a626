//! The selected row and the visible part of the table. A selection is a row's identity, not its
//! place. A key acts on the row that the user saw when pressing it.

use super::arrange::{Entry, RowId};
use super::command::CommandText;
use super::{matching, Action, App, Page};
use crate::draw::text::cut;
use crate::keys::{self, KeyCommand};
use crate::layout::PlacedColumn;
use exactop_model::words::units;
use exactop_model::{columns, Column, ColumnId, RowKind};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Width that every message fits.
const MESSAGE: usize = 80;

/// The user's selection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Selection {
    /// None: keys act on the first process on the screen.
    #[default]
    None,
    /// This row.
    Row(RowId),
    /// A row that left the table before the screen said so: keys act on nothing, not on the row
    /// that took its place.
    Lost(RowId),
}

/// The table as it was drawn last.
#[derive(Debug, Default)]
pub(crate) struct DrawnTable {
    /// The rows, from the top of the table.
    rows: Vec<RowId>,
    /// The first live row.
    pub(super) first: Option<RowId>,
    /// The line of the headings, and the headings.
    heading_y: u16,
    headings: Vec<PlacedColumn>,
}

/// The target of a click.
#[allow(missing_docs)] // Their names say it.
pub(crate) enum Pointed {
    Heading(&'static exactop_model::Column),
    Row(RowId),
    /// Nothing.
    Nothing,
}

impl DrawnTable {
    /// The target at a position.
    pub(crate) fn at(&self, x: u16, y: u16) -> Pointed {
        if self.headings.is_empty() || y < self.heading_y {
            return Pointed::Nothing;
        }
        if y == self.heading_y {
            // The blank after a column belongs to it: headings are small targets.
            let hit = self.headings.iter().find(|p| x <= p.end());
            return hit.map_or(Pointed::Nothing, |p| Pointed::Heading(p.column));
        }
        let row = self.rows.get(usize::from(y - self.heading_y - 1));
        row.map_or(Pointed::Nothing, |&id| Pointed::Row(id))
    }
}

impl App {
    /// Notes what is drawn now; help covers the table. A lost selection that the screen reports is dropped.
    pub(super) fn note_seen(&mut self) {
        if matches!(self.table.selection, Selection::Lost(_)) {
            self.table.selection = Selection::None;
        }
        self.table.seen = match (&self.page, self.screen()) {
            (Page::Table, Some(screen)) if self.arranged.is_some() && self.help.is_none() => {
                DrawnTable {
                    rows: self.shown_entries().map(|e| e.id()).collect(),
                    first: self
                        .shown_entries()
                        .find(|e| e.row.kind != RowKind::Exited)
                        .map(|e| e.id()),
                    heading_y: screen.heading_y,
                    headings: self.placed(),
                }
            }
            _ => DrawnTable::default(),
        };
        self.mark_first_group();
        self.mark_first_finding();
    }

    /// The selected row.
    pub fn selected(&self) -> Option<RowId> {
        self.table.selected()
    }

    /// The row that keys act on: the selected one, else the first process on the screen.
    pub fn marked(&self) -> Option<RowId> {
        self.table.acted_on()
    }

    /// The line of the selected row.
    pub fn selected_line(&self) -> Option<usize> {
        self.arranged.as_ref()?.place(self.selected()?)
    }

    /// Selects a line and scrolls to it.
    pub(crate) fn select(&mut self, line: usize) {
        let entry = self.arranged.as_ref().and_then(|a| a.entry(line));
        if let Some(id) = entry.map(|entry| entry.id()) {
            self.table.selection = Selection::Row(id);
            self.show_line(line);
        }
    }

    /// Selects a row that was clicked.
    pub(crate) fn select_row(&mut self, id: RowId) {
        self.table.selection = Selection::Row(id);
        match self.selected_line() {
            Some(line) => self.show_line(line),
            None => self.let_go_of_lost(),
        }
    }

    fn show_line(&mut self, line: usize) {
        self.table.show_line(line, self.body_rows().max(1));
    }

    /// Keeps the selected row on the screen, and the screen inside the table.
    pub(crate) fn follow_selection(&mut self) {
        let rows = self.body_rows().max(1);
        self.table.top = self.table.top.min(self.line_count().saturating_sub(rows));
        if let Some(line) = self.selected_line() {
            self.show_line(line);
        }
    }

    /// Finishes moves that waited for new lines.
    pub(crate) fn finish_moves(&mut self) {
        if std::mem::take(&mut self.table.search_due) {
            self.jump_to_match();
        }
        if std::mem::take(&mut self.table.end_due) {
            self.table.reach = self.line_count();
            self.select(self.line_count().saturating_sub(1));
        }
        self.forget_gone_tags();
        self.forget_gone_folds();
        if self.process_page().is_none() && self.selected_line().is_none() {
            self.let_go_of_lost();
        }
        self.follow_selection();
    }

    fn let_go_of_lost(&mut self) {
        let Some(id) = self.selected() else { return };
        self.table.selection = Selection::Lost(id);
        if let RowId::Task(key) = id {
            self.say(format!("the selected row (PID {}) is no longer in the table", key.tid));
        }
    }

    /// Moves the selection.
    pub(crate) fn move_selection(&mut self, command: KeyCommand) -> Action {
        let rows = self.body_rows().max(1);
        let last = self.line_count().saturating_sub(1);
        let now = self.selected_line();
        let target = match (command, now) {
            (KeyCommand::Up, Some(at)) => at.saturating_sub(1),
            (KeyCommand::Down, Some(at)) => at + 1,
            (KeyCommand::Up | KeyCommand::Down, None) => self.table.top,
            (KeyCommand::PageUp, at) => at.unwrap_or(self.table.top).saturating_sub(rows),
            (KeyCommand::PageDown, at) => at.unwrap_or(self.table.top) + rows,
            (KeyCommand::Home, _) => 0,
            _ => {
                self.table.end_due = true;
                return Action::Rearrange;
            }
        };
        if matches!(command, KeyCommand::PageDown | KeyCommand::PageUp) && now.is_none() {
            self.table.top = target.min(last.saturating_sub(rows - 1));
        } else {
            self.select(target.min(last));
        }
        self.want_more()
    }

    /// Scrolls without changing the selection, as a wheel does.
    pub(crate) fn scroll(&mut self, by: isize) -> Action {
        let rows = self.body_rows().max(1);
        let most = self.line_count().saturating_sub(rows);
        self.table.top = self.table.top.saturating_add_signed(by).min(most);
        self.want_more()
    }

    /// Scrolls to the columns that have no room, then along the command until its end.
    pub(super) fn scroll_sideways(&mut self, command: KeyCommand) {
        let placed = self.placed();
        let width = placed.iter().find(|p| p.column.id == ColumnId::Command).map(|p| p.width);
        let most = width.map_or(0, |width| self.characters_beyond(width.into()));
        let step = usize::from(width.unwrap_or(0) / 2).max(1);
        // The first step shows the columns from the left on; each further one skips one more.
        let skipped = self.table.column_offset.saturating_sub(1);
        let lacks_room = placed.len() + skipped < self.available_columns().len();
        let is_right = matches!(command, KeyCommand::ScrollRight | KeyCommand::PastRight);
        let table = &self.table;
        let (columns, along) = match (is_right, table.command_offset) {
            (true, 0) if lacks_room => (table.column_offset + 1, 0),
            (false, 0) => (table.column_offset.saturating_sub(1), 0),
            (false, along) => (table.column_offset, along.saturating_sub(step)),
            (true, along) => (table.column_offset, (along + step).min(most.max(along))),
        };
        (self.table.column_offset, self.table.command_offset) = (columns, along);
    }

    /// Characters to skip until the end of each command on the screen is in a column of this width.
    fn characters_beyond(&self, width: usize) -> usize {
        let lines = self.shows_command_lines();
        let living = self.shown_entries().filter(|entry| entry.row.kind != RowKind::Exited);
        let beyond = |entry: Entry| {
            let mark = entry.versus.map_or("", |versus| versus.mark());
            let mut room = width.saturating_sub(entry.line.prefix.width() + mark.width());
            let text: Vec<char> = CommandText::from_row(entry.row, lines).text().chars().collect();
            let fits = |c: &&char| {
                let left = room.checked_sub(c.width().unwrap_or(0));
                room = left.unwrap_or(0);
                left.is_some()
            };
            text.len() - text.iter().rev().take_while(fits).count()
        };
        living.map(beyond).max().unwrap_or(0)
    }

    /// Requests more idle rows near the end of the existing ones.
    fn want_more(&mut self) -> Action {
        let wanted = self.table.top + 2 * self.body_rows();
        if wanted > self.table.reach {
            self.table.reach = wanted + self.body_rows();
            return Action::Rearrange;
        }
        Action::Draw
    }

    /// Selects the next line that contains the searched text.
    fn jump_to_match(&mut self) {
        let (Some(text), Some(arranged)) = (self.table.search.clone(), &self.arranged) else {
            return;
        };
        let from = self.selected_line().map_or(0, |at| at + 1);
        let count = arranged.len();
        let has = |&i: &usize| arranged.entry(i).is_some_and(|e| self.row_has(e, &text));
        match (from..count).chain(0..from.min(count)).find(has) {
            Some(line) => self.select(line),
            None => self.complain(self.without_match(&text)),
        }
    }

    /// Says that no row has the text, and which text of the rows was not searched.
    fn without_match(&self, text: &str) -> String {
        let is_folded = self.settings.tree && !self.table.folded.is_empty();
        let rows = if is_folded { "unfolded row" } else { "row" };
        if self.shows_command_lines() {
            return format!("no {rows} contains '{text}'");
        }
        let key = keys::name_of(KeyCommand::CommandLine);
        let searched = format!(": / searched names, {key} adds command lines");
        // The key stays on the screen beside a long text.
        let around = format!("no {rows} contains ''{searched}").width();
        let text = cut(text, MESSAGE.saturating_sub(around));
        format!("no {rows} contains '{text}'{searched}")
    }

    fn row_has(&self, entry: Entry, text: &str) -> bool {
        let context = self.context();
        let has = |cell: &str| matching::find(cell, text, 0).is_some();
        let cell = |column: &Column| match entry.versus.is_some() && column.is_figure() {
            true => units::change(&entry.value(column, &context), column.unit),
            false => units::cell(&entry.value(column, &context), column.unit),
        };
        let command = match entry.row.kind {
            RowKind::Exited => columns::command(entry.row, context.command_line),
            _ => CommandText::from_row(entry.row, context.command_line).text(),
        };
        has(&command) || self.table.columns.iter().any(|column| has(&cell(column)))
    }
}
