//! Handles the mouse: clicks on rows, headings and the time line, and the wheel.

use super::action::{Action, WindowAction};
use super::select::Pointed;
use super::{App, Page};
use crate::draw::{clicked, findings, groups, sums, timeline};
use crate::keys::KeyCommand;
use crate::layout::{HeaderLine, Screen};
use crossterm::event::{KeyCode, MouseButton, MouseEvent, MouseEventKind};
use exactop_model::feed::timeline::Travel;

/// Rows that one turn of the wheel scrolls.
const WHEEL_ROWS: isize = 3;

impl App {
    pub(super) fn on_mouse(&mut self, mouse: &MouseEvent) -> Action {
        if self.prompt.is_some() && self.help.is_none() {
            return Action::Draw;
        }
        let step = match mouse.kind {
            MouseEventKind::ScrollUp => -WHEEL_ROWS,
            MouseEventKind::ScrollDown => WHEEL_ROWS,
            MouseEventKind::Down(MouseButton::Left) | MouseEventKind::Drag(MouseButton::Left)
                if self.is_time_line(mouse.row) =>
            {
                let time = timeline::time_at(self, mouse.column);
                return time.map_or(Action::Draw, |ns| {
                    Action::Window(WindowAction::Travel(Travel::To(ns)))
                });
            }
            MouseEventKind::Down(MouseButton::Left) | MouseEventKind::Drag(MouseButton::Left)
                if self.window_at(mouse).is_some() =>
            {
                let back = self.window_at(mouse);
                return back.map_or(Action::Draw, |windows| {
                    Action::Window(WindowAction::LookBack(windows))
                });
            }
            MouseEventKind::Down(MouseButton::Left) => {
                return self.on_click(mouse.column, mouse.row)
            }
            _ => return Action::Draw,
        };
        let last_top = self.last_top.get();
        if let Some(help) = &mut self.help {
            help.top = help.top.min(last_top).saturating_add_signed(step);
            return Action::Draw;
        }
        match &mut self.page {
            Page::Table => self.scroll(step),
            Page::Groups(_) => {
                self.move_group(step);
                Action::Draw
            }
            Page::Sums(_) => {
                self.move_sum(step);
                Action::Draw
            }
            Page::Findings(_) => {
                self.move_finding(step.signum());
                Action::Draw
            }
            Page::Graph(_) => Action::Draw,
            Page::Process(page) => {
                page.top = page.top.min(last_top).saturating_add_signed(step);
                Action::Draw
            }
            Page::ColumnChooser(chooser) => {
                let code = if step < 0 { KeyCode::Up } else { KeyCode::Down };
                chooser.key(code, 1);
                Action::Draw
            }
        }
    }

    /// The window at this place of the header's graph, counted back from the newest one.
    fn window_at(&self, mouse: &MouseEvent) -> Option<usize> {
        let fills = self.help.is_some() || matches!(self.page, Page::ColumnChooser(_));
        clicked::window_at(self, mouse.column, mouse.row).filter(|_| !fills)
    }

    /// True for the line with the time line, if it is on the screen.
    fn is_time_line(&self, y: u16) -> bool {
        let fills = self.help.is_some() || matches!(self.page, Page::ColumnChooser(_));
        let line = |screen: Screen| screen.header.get(usize::from(y)).copied();
        !fills && self.screen().and_then(line) == Some(HeaderLine::Time)
    }

    /// Sorts by the heading of a page that was clicked, or selects the row.
    fn click_page(&mut self, x: u16, y: u16) {
        match &self.page {
            Page::Groups(_) => match (groups::heading_at(self, x, y), groups::row_at(self, y)) {
                (Some(column), _) => self.sort_groups(column),
                (None, Some(row)) => self.select_group(row),
                (None, None) => {}
            },
            Page::Sums(_) => match (sums::heading_at(self, x, y), sums::row_at(self, y)) {
                (Some(column), _) => self.sort_sums(column),
                (None, Some(row)) => self.select_sum(row),
                (None, None) => {}
            },
            Page::Findings(_) => {
                if let Some(row) = findings::row_at(self, y) {
                    self.select_finding(row);
                }
            }
            Page::Table | Page::Process(_) | Page::ColumnChooser(_) | Page::Graph(_) => {}
        }
    }

    /// A click refers to the screen as it was drawn.
    fn on_click(&mut self, x: u16, y: u16) -> Action {
        if self.help.is_some() {
            return Action::Draw;
        }
        if self.page != Page::Table {
            self.click_page(x, y);
            return Action::Draw;
        }
        match self.table.seen.at(x, y) {
            Pointed::Heading(column) if column == self.table.sort.column => {
                self.on_table(KeyCommand::Reverse)
            }
            Pointed::Heading(column) => self.sort_by(column),
            Pointed::Row(id) => {
                self.message = None;
                self.select_row(id);
                Action::Draw
            }
            Pointed::Nothing => Action::Draw,
        }
    }
}
