//! The table: headings and rows.

use super::states;
use super::text::{blanks, cell, cut_parts, put, put_parts, StyledText};
use super::theme::{Ink, Magnitude, Theme};
use crate::app::arrange::{Entry, Line as TableLine, PastRow};
use crate::app::command::CommandText;
use crate::app::sets::TableSet;
use crate::app::shown::Facts;
use crate::app::App;
use crate::canvas::Canvas;
use crate::layout::{PlacedColumn, Screen};
use exactop_model::columns::sort::SortBy;
use exactop_model::columns::{Column, Context, Rounding, Unit};
use exactop_model::words::books::round_to_sum;
use exactop_model::words::units::{self, thousands};
use exactop_model::{ColumnId, Row, RowKind, Value};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use std::borrow::Cow;
use std::fmt::Write;
use std::rc::Rc;
use unicode_width::UnicodeWidthStr;

pub(super) fn draw(app: &App, screen: &Screen, theme: Theme, canvas: &mut Canvas) {
    let placed = app.placed();
    heading(&placed, app.table.sort, theme, screen.heading_y, canvas.cells());
    let bar = app.bar_width();
    if let Some(width) = bar {
        bar_heading(width, theme, screen.heading_y, canvas.cells());
    }
    let selected = app.selected_line();
    let table = Table { app, placed: &placed, bar, theme };
    let end = screen.body_y + screen.body_rows;
    let mut y = screen.body_y;
    for (n, entry) in app.shown_entries().enumerate() {
        let is_selected = selected == Some(app.table.top + n);
        table.draw_line(entry, app.table.shown.line(n), is_selected, y, canvas);
        y += 1;
    }
    (y..end).for_each(|y| canvas.leave_blank(y));
    canvas.forget_texts(4 * usize::from(screen.body_rows));
    if app.line_count() == 0 {
        canvas.blank(screen.body_y);
        let why = Line::styled(no_rows(app), theme.style(Ink::Dim));
        put(canvas.cells(), 0, screen.body_y, u16::MAX, &why);
    }
}

/// Why the table is empty, and the key that shows rows again.
fn no_rows(app: &App) -> String {
    let table = &app.table;
    let own_filters = table.filters.len() + usize::from(table.user.is_some());
    let hides = app.settings.hide_idle || app.settings.hide_kernel_threads;
    match (table.set, &table.members_of) {
        // Rows may be there and hidden.
        _ if hides => {}
        (Some(TableSet::Moves), _) if own_filters == 1 => {
            return "no task moved to another CPU in this window".into();
        }
        (Some(TableSet::New), _) if own_filters == 0 => {
            return "nothing is new since the mark".into();
        }
        (_, Some(members)) if own_filters == 0 => {
            return format!("{}: no processes in this window; Esc goes back", members.whose);
        }
        _ => {}
    }
    let filters = !table.filters.is_empty() || table.user.is_some() || table.members_of.is_some();
    let keys = [
        (filters, "= drops them"),
        (app.settings.hide_idle, "i shows idle rows"),
        (app.settings.hide_kernel_threads, "^K shows kernel threads"),
    ];
    let keys: Vec<&str> = keys.iter().filter(|(on, _)| *on).map(|(_, key)| *key).collect();
    match keys.is_empty() {
        true => "no row passes the filters".into(),
        false => format!("no row passes the filters: {}", keys.join(", ")),
    }
}

/// Common state of all lines of the table.
struct Table<'a> {
    app: &'a App,
    placed: &'a [PlacedColumn],
    bar: Option<u16>,
    theme: Theme,
}

impl Table<'_> {
    fn draw_line(
        &self,
        entry: Entry,
        facts: Option<&Rc<Facts>>,
        selected: bool,
        y: u16,
        canvas: &mut Canvas,
    ) {
        let text = match facts {
            Some(facts) if canvas.shows_line(y, facts, selected) => return,
            Some(facts) => canvas.text(entry.id(), facts, || self.text(entry)),
            None => {
                canvas.blank(y);
                Rc::new(self.text(entry))
            }
        };
        let buf = canvas.cells();
        put_parts(buf, (0, y), u16::MAX, text.parts());
        if let Some(width) = self.bar {
            put_bar(entry.row, width, self.theme, y, buf);
        }
        if facts.is_some_and(|facts| facts.tagged) {
            let area = Rect { x: 0, y, width: buf.area.width, height: 1 };
            buf.set_style(area.intersection(buf.area), self.theme.style(Ink::Tagged));
        }
        if selected {
            let area = Rect { x: 0, y, width: buf.area.width, height: 1 };
            // Colours of single cells would look like patches on the reversed line.
            let style = Style::reset().patch(self.theme.style(Ink::Selected));
            buf.set_style(area.intersection(buf.area), style);
        }
    }

    fn text(&self, entry: Entry) -> StyledText {
        let Table { app, placed, theme, .. } = *self;
        let shown = placed.iter().any(|p| p.column.rounding == Rounding::States);
        TableRow { app, entry, placed, has_states: shown, theme }.text()
    }
}

/// Headings over placed columns; an arrow marks the sort column and its direction.
pub(super) fn heading(
    placed: &[PlacedColumn],
    sort: SortBy,
    theme: Theme,
    y: u16,
    buf: &mut Buffer,
) {
    let style = theme.style(Ink::Heading);
    put(buf, 0, y, u16::MAX, &Line::styled(blanks(buf.area.width.into()), style));
    for p in placed {
        let width = usize::from(p.width);
        let left = p.column.left_aligned();
        let sorts = p.column == sort.column;
        let arrow = if sort.descending { "▾" } else { "▴" };
        let room = p.column.title.len() < width;
        let title = match (sorts && room, left) {
            (false, _) => Cow::from(p.column.title),
            (true, true) => format!("{}{arrow}", p.column.title).into(),
            (true, false) => format!("{arrow}{}", p.column.title).into(),
        };
        let ink = if sorts { Ink::SortHeading } else { Ink::Heading };
        let text = cell(&title, width, left);
        let (blank, word) = match left {
            true => ("", text.as_str()),
            false => text.split_at(text.len() - text.trim_start().len()),
        };
        let spans =
            vec![Span::styled(blank, style), Span::styled(word.trim_end(), theme.style(ink))];
        put(buf, p.x, y, p.width, &Line::from(spans));
        // In a column as narrow as its heading, the arrow goes into the gap beside it.
        let gap = if left { Some(p.end()) } else { p.x.checked_sub(1) };
        if let Some(x) = gap.filter(|_| sorts && !room) {
            put(buf, x, y, 1, &Line::styled(arrow, theme.style(Ink::SortHeading)));
        }
    }
}

/// The heading over bars of states at the right edge.
pub(super) fn bar_heading(width: u16, theme: Theme, y: u16, buf: &mut Buffer) {
    let text = cell("100 % of its time", usize::from(width), true);
    let x = buf.area.width.saturating_sub(width);
    put(buf, x, y, width, &Line::styled(text, theme.style(Ink::Heading)));
}

/// Draws a row's states as a bar at the right edge.
pub(super) fn put_bar(row: &Row, width: u16, theme: Theme, y: u16, buf: &mut Buffer) {
    let parts = states::parts(row, &row.delta);
    let bar = states::picture(&parts, row.life_ns, usize::from(width), theme);
    put(buf, buf.area.width.saturating_sub(width), y, width, &Line::from(bar));
}

/// Width of a command column from which its rows of exited tasks begin with that word.
const EXITED_FROM: usize = 24;

/// A row while it is formatted into cells.
struct TableRow<'a> {
    app: &'a App,
    entry: Entry<'a>,
    placed: &'a [PlacedColumn],
    /// True if a column shows a state.
    has_states: bool,
    theme: Theme,
}

/// Tenths of a per cent of a row's own time, by column.
type States = Vec<(ColumnId, i64)>;

impl TableRow<'_> {
    fn text(&self) -> StyledText {
        let row = self.entry.row;
        let context = self.app.context();
        let states = [Some(row), self.then()].map(|row| match row.filter(|_| self.has_states) {
            Some(row) => states::tenths(row),
            None => Vec::new(),
        });
        let label = (row.kind == RowKind::Exited).then(|| self.label_span()).flatten();
        let mut out = StyledText::with_room(self.app.size.0.into());
        let mut figure = String::new();
        let mut x = 0;
        for p in self.placed {
            let labelled = label.as_ref().is_some_and(|(from, to, _)| (*from..*to).contains(&p.x));
            if labelled && label.as_ref().is_some_and(|(from, ..)| *from != p.x) {
                continue;
            }
            out.push_blanks(p.x.saturating_sub(x).into());
            match label.as_ref().filter(|_| labelled) {
                Some((from, to, text)) => {
                    out.push_cell(text, (to - from).into(), true, self.theme.style(Ink::Plain));
                    x = *to;
                }
                None if p.column.id == ColumnId::Command => {
                    self.push_command(&mut out, p.width.into(), &context, label.is_some());
                    x = p.end();
                }
                None => {
                    figure.clear();
                    let style = self.push_figure(&mut figure, p, &context, &states);
                    out.push_cell(&figure, p.width.into(), p.column.left_aligned(), style);
                    x = p.end();
                }
            }
        }
        match &self.app.table.search {
            Some(text) => out.highlighted(text, self.theme.style(Ink::Match)),
            None => out,
        }
    }

    /// The row in the marked window.
    fn then(&self) -> Option<&Row> {
        match self.entry.versus?.was {
            PastRow::There(then, _) => Some(then),
            PastRow::Absent | PastRow::Only => None,
        }
    }

    /// Number of exited tasks, or its change since the marked window.
    fn exited(&self) -> String {
        let now = self.entry.row.exited_count();
        let Some(versus) = self.entry.versus else { return thousands(now) };
        let (more, by) = match versus.was {
            PastRow::There(then, _) => {
                (now >= then.exited_count(), now.abs_diff(then.exited_count()))
            }
            PastRow::Absent => (true, now),
            PastRow::Only => (false, now),
        };
        units::signed(!more, thousands(by))
    }

    /// `└ exited × 1,756` across the columns that are empty for an exited group: from, to, text.
    /// `None` if they are too narrow.
    fn label_span(&self) -> Option<(u16, u16, String)> {
        let silent = |p: &&PlacedColumn| p.column.silent_if_exited;
        let pid = self.placed.iter().position(|p| p.column.id == ColumnId::Pid);
        let after_pid = pid.map_or(0, |i| i + 1);
        let silent: Vec<&PlacedColumn> =
            self.placed[after_pid..].iter().take_while(silent).collect();
        let (from, to) = (silent.first()?.x, silent.last()?.end());
        let branch = if self.app.settings.tree { "" } else { &self.entry.line.prefix };
        let text = format!("{branch}exited × {}", self.exited());
        (text.chars().count() <= usize::from(to - from)).then_some((from, to, text))
    }

    fn push_command(&self, out: &mut StyledText, width: usize, context: &Context, labelled: bool) {
        if self.entry.row.kind == RowKind::Exited {
            let text = self.exited_command(labelled, width);
            return out.push_cell(&text, width, true, self.theme.style(Ink::Plain));
        }
        let used = self.push_living_command(out, context, width);
        out.push_blanks(width.saturating_sub(used));
    }

    /// Appends a figure; returns its style.
    fn push_figure(
        &self,
        text: &mut String,
        p: &PlacedColumn,
        context: &Context,
        states: &[States; 2],
    ) -> Style {
        let row = self.entry.row;
        let value = self.entry.value(p.column, context);
        let changes = self.entry.versus.is_some() && p.column.is_figure();
        match (&value, self.tenths(p.column, states)) {
            // No value that is read for rows applies to a group.
            (Value::Missing(_), _) if row.kind == RowKind::Exited => {}
            (Value::Known(_), Some(n)) if changes => {
                let mut amount = String::new();
                push_tenths(&mut amount, n.abs());
                text.push_str(&units::signed(n < 0, amount));
            }
            (Value::Known(_), Some(n)) => push_tenths(text, n),
            // In the tree, the use of a row in the branch is unknown.
            (Value::Known(_), None) if p.column.rounding == Rounding::WithExited => text.push('-'),
            _ if changes => text.push_str(&units::change(&value, p.column.unit)),
            _ => units::push_cell(text, &value, p.column.unit),
        }
        let nothing = matches!(text.as_str(), "0.0" | "0" | "-" | "0:00.00");
        let size = match changes {
            true => None,
            false => Magnitude::of(&value, p.column, context),
        };
        match (p.column.id, size) {
            _ if nothing && p.column.unit != Unit::Int => self.theme.style(Ink::Dim),
            (ColumnId::S, _) if text == "R" => self.theme.style(Ink::Strong),
            (_, Some(size)) => self.theme.sized(Ink::from_column(p.column), size),
            (_, None) => self.theme.style(Ink::from_column(p.column)),
        }
    }

    /// Shares that are rounded together with others, so that sums are right; or their changes.
    fn tenths(&self, column: &Column, [now, then]: &[States; 2]) -> Option<i64> {
        let own = rounded(self.entry.row, self.entry.line, column, now);
        match self.entry.versus {
            Some(versus) => versus.tenths(own, |row, line| rounded(row, line, column, then)),
            None => own,
        }
    }

    fn exited_command(&self, labelled: bool, width: usize) -> String {
        let Entry { line, row, .. } = self.entry;
        let threads = match (row.exited_processes, row.exited_tasks) {
            (0, 1..) => " (threads)",
            _ => "",
        };
        let prefix = &line.prefix;
        let comm = row.ident.comm;
        match labelled {
            true if self.app.settings.tree => format!("{prefix}{comm}{threads}"),
            true => format!("{comm}{threads}"),
            false => {
                // A narrow column has no room for the word; the letter X and the branch say it, too.
                let text = |word| format!("{prefix}{word}{} {comm}{threads}", self.exited());
                let whole = text("exited × ");
                match width >= EXITED_FROM && whole.width() <= width {
                    true => whole,
                    false => text("×"),
                }
            }
        }
    }

    /// Appends the command with its branch; returns its width. In a command line the program's name
    /// stands out; a path that does not fit gives way to it.
    fn push_living_command(&self, out: &mut StyledText, context: &Context, width: usize) -> usize {
        let Entry { line, row, versus } = self.entry;
        let CommandText { path, name, rest } = CommandText::from_row(row, context.command_line);
        let (around, of_name) = match (row.ident.kthread, context.command_line) {
            (true, _) => (Ink::Dim, Ink::Dim),
            (false, true) => (Ink::Dim, Ink::Strong),
            (false, false) => (Ink::Plain, Ink::Plain),
        };
        let mark = versus.map_or("", |versus| versus.mark());
        let branch = line.prefix.width() + mark.len();
        let mut skipped = self.app.table.command_offset;
        let fits = path.is_empty() || branch + path.width() + name.width() <= width;
        let path = if skipped == 0 && !fits { "…/" } else { &path };
        let mut after_skipped = |text: &str| -> usize {
            let at = text.char_indices().nth(skipped).map_or(text.len(), |(at, _)| at);
            skipped -= text[..at].chars().count();
            at
        };
        let [path, name, rest] = [path, &name, &rest].map(|text| &text[after_skipped(text)..]);
        let parts: [(&str, Ink); 5] = [
            (&line.prefix, Ink::Plain),
            (mark, Ink::Plain),
            (path, around),
            (name, of_name),
            (rest, around),
        ];
        let parts = parts.map(|(text, ink)| (text, self.theme.style(ink)));
        let shown = cut_parts(&parts, width);
        shown.iter().for_each(|(text, style)| out.push(text, *style));
        shown.iter().map(|(text, _)| text.width()).sum()
    }
}

/// Appends tenths with one digit after the point. Writing to a `String` does not fail.
fn push_tenths(out: &mut String, n: i64) {
    let _ = write!(out, "{}.{}", n / 10, n % 10);
}

/// A row's tenths of a per cent in a column, rounded together with others.
fn rounded(row: &Row, line: &TableLine, column: &Column, states: &States) -> Option<i64> {
    let own = line.cpu_tenths;
    let part = |i: usize| {
        let (user, system) = row.split_ns().ok()?;
        round_to_sum(&[user.into(), system.into()], own?).get(i).copied()
    };
    match column.rounding {
        Rounding::Alone => None,
        Rounding::Own => own,
        Rounding::WithExited => line.cpu_plus_tenths,
        Rounding::User => part(0),
        Rounding::System => part(1),
        Rounding::States => {
            let state = states.iter().find(|(state, _)| *state == column.id);
            state.map(|(_, tenths)| *tenths)
        }
    }
}
