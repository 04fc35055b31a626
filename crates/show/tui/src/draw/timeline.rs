//! The time line of a recording: the shown window, and its place in the recording.

use super::text::{pack, put, put_right, seconds, Piece};
use super::theme::{Ink, Theme};
use crate::app::past::ShownPast;
use crate::app::App;
use ratatui_core::buffer::Buffer;
use ratatui_core::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

/// Marks of recorded time, of time that is not recorded, and of the window.
const RECORDED: char = '━';
const NOT_RECORDED: char = '·';
const HERE: char = '◆';
/// Least width of the bar.
const MIN_BAR: usize = 10;

pub(super) fn draw(app: &App, theme: Theme, y: u16, buf: &mut Buffer) {
    let Some(past) = &app.past else { return };
    let width = buf.area.width;
    let (left, right) = ends(app, past, theme, width.into());
    put(buf, 0, y, width, &left);
    put_right(buf, y, &right);
    let Some((x, cells)) = place(past, &left, &right, width) else { return };
    let (begin, end) = &past.bounds;
    if has_bounds(past, &left, &right, width) {
        let dim = theme.style(Ink::Dim);
        put(buf, x - begin.width() as u16 - 1, y, width, &Line::styled(begin.clone(), dim));
        put(buf, x + cells as u16 + 1, y, width, &Line::styled(end.clone(), dim));
    }
    put(buf, x, y, width, &Line::from(bar(past, cells, theme)));
}

/// The window and the state, left and right of the bar.
fn ends(app: &App, past: &ShownPast, theme: Theme, room: usize) -> (Line<'static>, Line<'static>) {
    let length = seconds(past.place.length_ns);
    let left = Piece::new(9, theme, Ink::Strong, past.from.clone()).and(
        theme,
        Ink::Plain,
        format!(" + {length} s"),
    );
    let left = pack(vec![left], "", room);
    let state = match (app.is_paused(), past.kept) {
        (false, _) => "PLAYING",
        (true, true) => "earlier · Esc: present",
        (true, false) => "stopped",
    };
    let ink = if app.is_paused() { Ink::Plain } else { Ink::Strong };
    let mut right = vec![Piece::new(9, theme, ink, state)];
    if let Some(joined) = past.joined() {
        let windows = past.place.windows;
        let s = if windows == 1 { "" } else { "s" };
        let text = format!("{windows} window{s} joined to {joined}");
        right.insert(0, Piece::new(8, theme, Ink::Strong, text));
    }
    let right = pack(right, " · ", room.saturating_sub(left.width() + 2));
    (left, right)
}

fn free(left: &Line, right: &Line, width: u16) -> usize {
    usize::from(width).saturating_sub(left.width() + right.width() + 4)
}

/// Cells that the two ends of the recording take beside the bar.
fn names(past: &ShownPast) -> usize {
    past.bounds.0.width() + past.bounds.1.width() + 2
}

fn has_bounds(past: &ShownPast, left: &Line, right: &Line, width: u16) -> bool {
    free(left, right, width) >= names(past) + 2 * MIN_BAR
}

/// The first cell of the bar and the number of its cells; `None`: no room.
fn place(past: &ShownPast, left: &Line, right: &Line, width: u16) -> Option<(u16, usize)> {
    let (at, free) = (left.width() as u16 + 2, free(left, right, width));
    match has_bounds(past, left, right, width) {
        true => Some((at + past.bounds.0.width() as u16 + 1, free - names(past))),
        false => (free >= MIN_BAR).then_some((at, free)),
    }
}

/// The time at a cell of the drawn time line, ns since the epoch; `None`: not a cell of the bar.
pub(crate) fn time_at(app: &App, x: u16) -> Option<i128> {
    let past = app.past.as_ref()?;
    let width = app.size().0;
    let (left, right) = ends(app, past, Theme::MONO, width.into());
    let (first, cells) = place(past, &left, &right, width)?;
    let cell = i128::from(x.checked_sub(first)?);
    let (begin, end) = past.place.bounds();
    let cells = cells as i128;
    (cell < cells).then(|| begin + (end - begin) * (2 * cell + 1) / (2 * cells))
}

/// The recording's whole time as a bar of `cells` cells.
fn bar(past: &ShownPast, cells: usize, theme: Theme) -> Vec<Span<'static>> {
    let place = &past.place;
    let (begin, end) = place.bounds();
    let cells_i = cells as i128;
    let whole = (end - begin).max(1);
    let cell = |ns: i128| ((ns - begin) * cells_i / whole).clamp(0, cells_i - 1);
    let mut glyphs = vec![NOT_RECORDED; cells];
    for (from, to) in &place.recorded {
        for n in cell(*from)..=cell(*to - 1) {
            glyphs[n as usize] = RECORDED;
        }
    }
    let here = cell((place.from_wall_ns + place.to_wall_ns) / 2) as usize;
    let text = |part: &[char]| part.iter().collect::<String>();
    vec![
        Span::styled(text(&glyphs[..here]), theme.style(Ink::Idle)),
        Span::styled(HERE.to_string(), theme.style(Ink::Strong)),
        Span::styled(text(&glyphs[here + 1..]), theme.style(Ink::Idle)),
    ]
}
