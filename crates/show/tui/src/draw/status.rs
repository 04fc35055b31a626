//! The status line: a question, a message, or the restrictions of the view.

use super::books::lost_note;
use super::header::{busy, status, status_line, Summary, STATUS_GAP};
use super::text::{cut, cut_parts, graph, pack, per_glyph, put_right, width, Piece};
use super::theme::{Ink, Theme};
use super::{put, put_whole};
use crate::app::question::Prompt;
use crate::app::tracked::TaskPart;
use crate::app::{App, Message, Page};
use exactop_model::Frame;
use ratatui_core::buffer::Buffer;
use ratatui_core::text::{Line, Span};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub(super) fn draw(
    app: &App,
    frame: &Frame,
    y: u16,
    summary: &Summary,
    theme: Theme,
    buf: &mut Buffer,
) -> Option<(u16, u16)> {
    let room = usize::from(buf.area.width);
    if let Some(prompt) = app.prompt() {
        return Some((question(prompt, app.message(), y, theme, buf), y));
    }
    if let Some(message) = app.message() {
        put_message(message, y, theme, buf);
        put_restrictions(app, message, y, theme, buf);
        return None;
    }
    let state = state_line(app, frame, summary, theme, room);
    put_right(buf, y, &state);
    let left = room.saturating_sub(state.width() + 2);
    let line = match summary.status_first {
        true => busy(app, theme, left).unwrap_or_default(),
        false => {
            let whole = status_line(app, frame, theme, left);
            let parts: Vec<_> =
                whole.spans.iter().map(|span| (&*span.content, span.style)).collect();
            let cut = cut_parts(&parts, left).into_iter();
            cut.map(|(text, style)| Span::styled(text.into_owned(), style)).collect()
        }
    };
    put(buf, 0, y, left as u16, &line);
    let used = if line.width() == 0 { 0 } else { line.width() + GAP };
    if let Some(states) = selected_states(app, theme, left.saturating_sub(used)) {
        put(buf, used as u16, y, u16::MAX, &states);
    }
    None
}

/// The restrictions of the view, and the help key.
fn state_line(
    app: &App,
    frame: &Frame,
    summary: &Summary,
    theme: Theme,
    room: usize,
) -> Line<'static> {
    let mut state = view_state(app, theme);
    if let Some(note) = lost_note(frame, app.settings().of_machine, &summary.books) {
        state.insert(0, Piece::new(2, theme, Ink::Dim, note));
    }
    let own = match summary.status_first {
        true => 0,
        false => width(&status(app, frame, theme), STATUS_GAP),
    };
    // The help key and the restrictions always have room; hints and notes only if there is room
    // left.
    let help: usize = state.iter().filter(|p| p.rank() >= HELP).map(Piece::width).sum();
    let restricts = state.iter().any(|p| (RESTRICTS..HELP).contains(&p.rank()));
    let kept = help + if restricts { room / 2 } else { 0 };
    pack(state, " · ", room.saturating_sub(own + 2).max(kept))
}

/// The last windows, if they stand on this line.
pub(super) fn busy_line(
    app: &App,
    frame: &Frame,
    summary: &Summary,
    theme: Theme,
    room: usize,
) -> Option<Line<'static>> {
    let covered = app.prompt().is_some() || app.message().is_some();
    if covered || !summary.status_first {
        return None;
    }
    let state = state_line(app, frame, summary, theme, room);
    busy(app, theme, room.saturating_sub(state.width() + 2))
}

/// Gap in front of the graphs of the selected row.
const GAP: usize = 3;
/// From this width on, the line has room for them.
const STATES_FROM: u16 = 120;
/// Least and greatest width of one graph.
const LEAST_GRAPH: usize = 6;
const MOST_GRAPH: usize = 20;

/// What the selected row did in the last windows, the newest at the right: a graph for each part of
/// its life; `None`: no room, or no two windows of it.
fn selected_states(app: &App, theme: Theme, free: usize) -> Option<Line<'static>> {
    let shows_it = matches!(app.page(), Page::Table | Page::Process(_) | Page::Graph(_));
    if !shows_it || app.size().0 < STATES_FROM || app.windows_of_selected() < 2 {
        return None;
    }
    let names: usize = TaskPart::ALL.iter().map(|part| part.name().len() + 2).sum();
    let room = (free + 1).checked_sub(names)? / TaskPart::ALL.len();
    let glyphs = Some(room).filter(|&room| room >= LEAST_GRAPH)?.min(MOST_GRAPH);
    let mut spans = Vec::new();
    for part in TaskPart::ALL {
        let gap = if spans.is_empty() { "" } else { " " };
        spans.push(Span::styled(format!("{gap}{} ", part.name()), theme.style(Ink::Dim)));
        let parts = app.tracked.part(part, glyphs * per_glyph(theme));
        let drawn = if parts.is_empty() { "-".into() } else { graph(&parts, theme) };
        // The graphs stay in their places while they fill.
        let drawn = format!("{drawn:>glyphs$}");
        let ink = match part {
            TaskPart::Run => Ink::User,
            TaskPart::Wait => Ink::RunQueue,
            TaskPart::Blocked => Ink::Block,
        };
        spans.push(Span::styled(drawn, theme.style(ink)));
    }
    Some(Line::from(spans))
}

/// Draws a message over a line.
pub(super) fn put_message(message: &Message, y: u16, theme: Theme, buf: &mut Buffer) {
    let ink = if message.is_error { Ink::Alarm } else { Ink::Strong };
    let text = cut(&message.text, buf.area.width.into());
    put_whole(buf, y, &Line::styled(text, theme.style(ink)));
}

/// Gap between a message and the restrictions of the view.
const AFTER_MESSAGE: usize = 2;

/// Draws the restrictions of the view right of a message, if there is room for one.
fn put_restrictions(app: &App, message: &Message, y: u16, theme: Theme, buf: &mut Buffer) {
    let used = message.text.width() + AFTER_MESSAGE;
    let left = usize::from(buf.area.width).saturating_sub(used);
    let restricts = |piece: &Piece| (RESTRICTS..HELP).contains(&piece.rank());
    let pieces = view_state(app, theme).into_iter().filter(restricts).collect();
    let line = pack(pieces, " · ", left);
    if line.width() <= left {
        put_right(buf, y, &line);
    }
}

/// Least width of an answer, if the screen is wide enough.
const ANSWER: usize = 16;

/// Draws the question, or why its answer is wrong. Returns the cursor's column.
fn question(
    prompt: &Prompt,
    wrong: Option<&Message>,
    y: u16,
    theme: Theme,
    buf: &mut Buffer,
) -> u16 {
    let room = usize::from(buf.area.width);
    let answer = if prompt.is_yes_no() { 1 } else { ANSWER.min(room / 3) };
    // The meaning of an empty answer is never cut.
    let tail = cut(&prompt.tail(), room * 2 / 3);
    let for_label = room.saturating_sub(tail.width() + answer);
    let (label, ink) = match wrong.filter(|message| message.is_error) {
        Some(message) => (&message.text, Ink::Alarm),
        None if prompt.label.width() <= for_label => (&prompt.label, Ink::Strong),
        None => (&prompt.short, Ink::Strong),
    };
    let head = cut(label, for_label) + &tail;
    let before = prompt.editor.before_cursor();
    let rest = room.saturating_sub(head.width() + 1);
    // A long answer scrolls, so that the cursor stays on the screen.
    let mut used = 0;
    let mut from = before.len();
    for (at, c) in before.char_indices().rev() {
        used += c.width().unwrap_or(0);
        if used > rest {
            break;
        }
        from = at;
    }
    let cursor = head.width() + before[from..].width();
    let text = cut(&prompt.editor.text()[from..], rest + 1);
    let line = Line::from(vec![Span::styled(head, theme.style(ink)), Span::raw(text)]);
    put_whole(buf, y, &line);
    cursor.min(room.saturating_sub(1)) as u16
}

/// From this rank on, a piece reports missing rows or frozen figures.
const RESTRICTS: u8 = 8;
/// Rank of the help key.
const HELP: u8 = 10;

/// Differences of this view from the plain one.
fn view_state(app: &App, theme: Theme) -> Vec<Piece> {
    let mut pieces = Vec::new();
    // In a recording the time line shows whether it plays.
    if app.is_paused() && app.past.is_none() {
        pieces.push(Piece::new(9, theme, Ink::Alarm, "PAUSED"));
    }
    if !app.table.tags.is_empty() {
        let tagged = format!("{} tagged", app.table.tags.len());
        pieces.push(Piece::new(9, theme, Ink::Strong, tagged));
    }
    // Other pages show all their rows.
    if matches!(app.page(), Page::Table) {
        pieces.extend(table_state(app, theme));
    }
    if app.settings().of_machine {
        pieces.push(Piece::new(5, theme, Ink::Plain, "% of machine"));
    }
    if matches!(app.page(), Page::Process(_) | Page::Findings(_) | Page::Graph(_)) {
        pieces.push(Piece::new(4, theme, Ink::Dim, "Esc back"));
    }
    pieces.push(Piece::new(HELP, theme, Ink::Dim, "? help"));
    pieces
}

/// What chooses and orders the rows of the table.
fn table_state(app: &App, theme: Theme) -> Vec<Piece> {
    let settings = app.settings();
    let mut pieces = Vec::new();
    let mut add = |rank, ink, text: String| pieces.push(Piece::new(rank, theme, ink, text));
    if let Some(user) = &app.table.user {
        add(8, Ink::Strong, format!("user {}", user.text));
    }
    // Esc first shows the left end again.
    let back = if app.table.is_scrolled() { "" } else { " (Esc back)" };
    if let Some(set) = app.table.set {
        add(8, Ink::Strong, format!("{}{back}", set.definition().question));
    }
    if let Some(members) = &app.table.members_of {
        add(8, Ink::Strong, format!("{}{back}", members.whose));
    }
    for filter in &app.table.filters {
        add(8, Ink::Strong, filter.text().into());
    }
    if let Some(search) = &app.table.search {
        add(3, Ink::Plain, format!("/{search}"));
    }
    let flags = [
        (8, settings.hide_idle, "idle hidden"),
        (8, settings.hide_kernel_threads, "kernel threads hidden"),
        (5, settings.tree, "tree"),
        (5, app.table.is_scrolled(), "scrolled"),
    ];
    for (rank, _, name) in flags.iter().filter(|(_, on, _)| *on) {
        add(*rank, Ink::Plain, name.to_string());
    }
    pieces
}
