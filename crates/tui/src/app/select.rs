//! The selected row and the part of the table on the screen. The selection follows a process by
//! its key, not by its place.

use super::arrange::RowId;
use super::{Action, App};
use crate::keys::Command;
use exactop_model::{columns, format, Row, RowKind};

impl App {
    /// The place of the selected row.
    pub fn selected_line(&self) -> Option<usize> {
        let selected = self.selected?;
        self.lines.iter().position(|line| self.id_of(line) == Some(selected))
    }

    /// The row that keys act on: the selected one, else the first process.
    pub(crate) fn target(&self) -> Option<&Row> {
        let frame = self.frame.as_ref()?;
        let line = match self.selected {
            Some(_) => self.lines.get(self.selected_line()?),
            None => self.lines.iter().find(|l| l.at.row(frame).kind != RowKind::Exited),
        };
        line.map(|l| l.at.row(frame)).filter(|r| r.kind != RowKind::Exited)
    }

    /// Selects a line and brings it onto the screen.
    pub(crate) fn select(&mut self, line: usize) {
        self.selected = self.lines.get(line).and_then(|l| self.id_of(l));
        self.show_line(line);
    }

    fn show_line(&mut self, line: usize) {
        let rows = self.body_rows().max(1);
        if line < self.top {
            self.top = line;
        } else if line >= self.top + rows {
            self.top = line + 1 - rows;
        }
    }

    /// Keeps the selected row on the screen, and the screen inside the table.
    pub(crate) fn follow_selection(&mut self) {
        let rows = self.body_rows().max(1);
        self.top = self.top.min(self.lines.len().saturating_sub(rows));
        if let Some(line) = self.selected_line() {
            self.show_line(line);
        }
    }

    /// After the lines changed: what was asked for and needed them.
    pub(crate) fn finish_moves(&mut self) {
        if std::mem::take(&mut self.search_due) {
            self.jump_to_match();
        }
        if std::mem::take(&mut self.end_due) {
            self.reach = self.lines.len();
            self.select(self.lines.len().saturating_sub(1));
        }
        if self.process_page().is_none() && self.selected_line().is_none() {
            self.let_go_of_lost();
        }
        self.follow_selection();
    }

    fn let_go_of_lost(&mut self) {
        let Some(id) = self.selected.take() else { return };
        if let RowId::Task(key) = id {
            self.say(format!("the selected row (PID {}) is not in the table any more", key.tid));
        }
    }

    /// Moves the selection.
    pub(crate) fn move_selection(&mut self, command: Command) -> Action {
        let rows = self.body_rows().max(1);
        let last = self.lines.len().saturating_sub(1);
        let now = self.selected_line();
        let target = match (command, now) {
            (Command::Up, Some(at)) => at.saturating_sub(1),
            (Command::Down, Some(at)) => at + 1,
            (Command::Up | Command::Down, None) => self.top,
            (Command::PageUp, at) => at.unwrap_or(self.top).saturating_sub(rows),
            (Command::PageDown, at) => at.unwrap_or(self.top) + rows,
            (Command::Home, _) => 0,
            _ => {
                self.end_due = true;
                return Action::Rearrange;
            }
        };
        if matches!(command, Command::PageDown | Command::PageUp) && now.is_none() {
            self.top = target.min(last.saturating_sub(rows - 1));
        } else {
            self.select(target.min(last));
        }
        self.want_more()
    }

    /// Scrolls without touching the selection, as a wheel does.
    pub(crate) fn scroll(&mut self, by: isize) -> Action {
        let rows = self.body_rows().max(1);
        let most = self.lines.len().saturating_sub(rows);
        self.top = self.top.saturating_add_signed(by).min(most);
        self.want_more()
    }

    /// Asks for more still rows when the end of those at hand comes near.
    fn want_more(&mut self) -> Action {
        let wanted = self.top + 2 * self.body_rows();
        if wanted > self.reach {
            self.reach = wanted + self.body_rows();
            return Action::Rearrange;
        }
        Action::Draw
    }

    /// Selects the next line in which the text being searched for stands.
    fn jump_to_match(&mut self) {
        let Some(text) = self.search.clone() else { return };
        let Some(frame) = &self.frame else { return };
        let from = self.selected_line().map_or(0, |at| at + 1);
        let count = self.lines.len();
        let found = (from..count).chain(0..from.min(count)).find(|&i| {
            let row = self.lines[i].at.row(frame);
            self.row_has(row, &text)
        });
        match found {
            Some(line) => self.select(line),
            None => self.complain(format!("'{text}' is in no row")),
        }
    }

    /// Without capitals in the text, case does not matter.
    fn row_has(&self, row: &Row, text: &str) -> bool {
        let context = self.context();
        let exact_case = text.chars().any(char::is_uppercase);
        let has = |cell: &str| match exact_case {
            true => cell.contains(text),
            false => cell.to_lowercase().contains(text),
        };
        has(&columns::command(row, context.command_line))
            || self.columns.iter().any(|c| has(&format::cell(&(c.value)(row, &context), c.unit)))
    }
}
