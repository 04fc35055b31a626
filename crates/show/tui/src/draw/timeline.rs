//! The time line of a recording: the shown window, and its place in the recording.

use super::text::{pack, put, put_right, seconds, Piece};
use super::theme::{Ink, Theme};
use crate::app::past::ShownPast;
use crate::app::App;
use ratatui_core::buffer::Buffer;
use ratatui_core::text::{Line, Span};

/// Marks of recorded time, of time that is not recorded, and of the window.
const RECORDED: char = '━';
const NOT_RECORDED: char = '·';
const HERE: char = '◆';
/// Least width of the bar.
const MIN_BAR: usize = 10;

pub(super) fn draw(app: &App, theme: Theme, y: u16, buf: &mut Buffer) {
    let Some(past) = &app.past else { return };
    let room = usize::from(buf.area.width);
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
    put(buf, 0, y, buf.area.width, &left);
    put_right(buf, y, &right);
    let (begin, end) = &past.bounds;
    let free = room.saturating_sub(left.width() + right.width() + 4);
    let names = begin.len() + end.len() + 2;
    let at = left.width() as u16 + 2;
    let line = if free >= names + 2 * MIN_BAR {
        let mut spans = vec![Span::styled(format!("{begin} "), theme.style(Ink::Dim))];
        spans.extend(bar(past, free - names, theme));
        spans.push(Span::styled(format!(" {end}"), theme.style(Ink::Dim)));
        Line::from(spans)
    } else if free >= MIN_BAR {
        Line::from(bar(past, free, theme))
    } else {
        return;
    };
    put(buf, at, y, buf.area.width, &line);
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
