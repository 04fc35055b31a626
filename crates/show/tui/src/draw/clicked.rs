//! Which window a cell of the graph of the last windows shows.

use super::header::{machine_line, Summary, BUSY};
use super::status::busy_line;
use super::text::per_glyph;
use super::theme::Theme;
use crate::app::App;

/// The window at a cell of the graph of the last windows, counted back from the newest; `None`: not
/// a cell of the graph.
pub(crate) fn window_at(app: &App, x: u16, y: u16) -> Option<usize> {
    let (frame, screen, room) = (app.frame()?, app.screen()?, usize::from(app.size().0));
    let theme = if app.has_braille { Theme::FULL } else { Theme::FULL.in_ascii() };
    let summary = Summary::new(app, frame, theme, room);
    let (first, line) = match y {
        0 => machine_line(app, frame, theme, room, &summary).busy?,
        y if y == screen.status_y => (0, busy_line(app, frame, &summary, theme, room)?),
        _ => return None,
    };
    let end = usize::from(first) + line.width();
    let from_right = end.checked_sub(usize::from(x) + 1)?;
    // Of two windows in a character, the newer one.
    let is_graph = from_right < line.width() - BUSY.len();
    is_graph.then_some(from_right * per_glyph(theme))
}
