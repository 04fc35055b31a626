//! The state of the table of processes: its rows and columns, and the visible part.

use super::arrange::{MarkedWindow, RowId, UserFilter};
use super::members::MembersOf;
use super::select::{DrawnTable, Selection};
use super::sets::TableSet;
use super::shown::Shown;
use super::tags::Tags;
use crate::layout::Widths;
use crate::settings::Settings;
use exactop_model::columns::filter::Filter;
use exactop_model::columns::sort::SortBy;
use exactop_model::columns::{self, Column};
use exactop_model::{Needs, TaskKey};
use std::collections::HashSet;

/// The table of processes.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) columns: Vec<&'static Column>,
    /// The question that the columns, the order and a filter answer; `None`: the usual table.
    pub(crate) set: Option<TableSet>,
    pub(crate) sort: SortBy,
    pub(crate) filters: Vec<Filter>,
    pub(crate) user: Option<UserFilter>,
    /// Show only these processes.
    pub(crate) members_of: Option<MembersOf>,
    /// The window that rows are compared with.
    pub(crate) marked: Option<MarkedWindow>,
    /// Rows of the tree whose branches are folded.
    pub(crate) folded: HashSet<TaskKey>,
    /// True if the order or the selection of rows changed since they were arranged.
    pub(crate) stale: bool,
    pub(crate) selection: Selection,
    /// Tagged rows.
    pub(crate) tags: Tags,
    pub(crate) search: Option<String>,
    /// True if a search waits for the rows of all tasks.
    pub(crate) search_due: bool,
    /// True if the user asked for the last row, which needs the rows of all tasks.
    pub(crate) end_due: bool,
    /// Idle rows are needed up to this line.
    pub(crate) reach: usize,
    /// The first visible line.
    pub(crate) top: usize,
    pub(crate) column_offset: usize,
    pub(crate) command_offset: usize,
    pub(crate) widths: Widths,
    /// The table as it was drawn last.
    pub(crate) seen: DrawnTable,
    pub(crate) shown: Shown,
}

impl Table {
    /// The table with these settings, without rows.
    ///
    /// # Errors
    /// A filter does not parse.
    pub(crate) fn new(settings: &Settings) -> Result<Table, String> {
        Ok(Table {
            columns: settings.column_list(),
            set: None,
            sort: settings.sort_by(),
            filters: settings.filter_list()?,
            user: None,
            members_of: None,
            marked: None,
            folded: HashSet::new(),
            stale: true,
            selection: Selection::None,
            tags: Tags::default(),
            search: None,
            search_due: false,
            end_due: false,
            reach: 0,
            top: 0,
            column_offset: 0,
            command_offset: 0,
            widths: Widths::default(),
            seen: DrawnTable::default(),
            shown: Shown::default(),
        })
    }

    /// Drops the selection and shows the first rows.
    pub(super) fn begin_at_top(&mut self) {
        (self.selection, self.top, self.reach) = (Selection::None, 0, 0);
    }

    /// Sets the columns.
    pub(super) fn set_columns(&mut self, columns: Vec<&'static Column>) {
        self.columns = columns;
        self.scroll_home();
    }

    /// The column `step` places to the right of the sort column.
    pub(super) fn column_beside(&self, step: isize) -> &'static Column {
        let last = self.columns.len() - 1;
        let now = self.columns.iter().position(|column| *column == self.sort.column);
        self.columns[now.map_or(0, |at| at.saturating_add_signed(step).min(last))]
    }

    /// True if columns or commands are scrolled sideways.
    pub(crate) fn is_scrolled(&self) -> bool {
        self.column_offset > 0 || self.command_offset > 0
    }

    /// Shows the left ends again.
    pub(super) fn scroll_home(&mut self) {
        (self.column_offset, self.command_offset) = (0, 0);
    }

    /// Scrolls a line onto a screen of `rows` rows.
    pub(super) fn show_line(&mut self, line: usize, rows: usize) {
        if line < self.top {
            self.top = line;
        } else if line >= self.top + rows {
            self.top = line + 1 - rows;
        }
    }

    /// The selected row.
    pub(super) fn selected(&self) -> Option<RowId> {
        match self.selection {
            Selection::Row(id) => Some(id),
            Selection::None | Selection::Lost(_) => None,
        }
    }

    /// The row that keys act on: the selected one, else the first process on the screen.
    pub(super) fn acted_on(&self) -> Option<RowId> {
        match self.selection {
            Selection::Row(id) => Some(id),
            Selection::None => self.seen.first,
            Selection::Lost(_) => None,
        }
    }

    /// Details that the order and the selection of rows need.
    pub(super) fn needs(&self, command_line: bool) -> Needs {
        let filters = self.filters.iter().map(|filter| filter.column());
        let members = self.members_of.as_ref().map_or(Needs::NONE, |of| of.whose.needs());
        columns::needs(filters.chain([self.sort.column]), command_line) | members
    }

    /// The filters as the user wrote them; empty without any.
    pub(super) fn filters_in_words(&self) -> String {
        let members = self.members_of.iter().map(|members| members.whose.to_string());
        let user = self.user.iter().map(|user| format!("user {}", user.text));
        let filters = self.filters.iter().map(|filter| filter.text().to_string());
        filters.chain(user).chain(members).collect::<Vec<_>>().join("  and  ")
    }
}
