//! Draws the state onto a buffer of cells. It reads the state and changes nothing.

mod books;
mod calls;
pub(crate) mod clicked;
mod column_chooser;
mod cpus;
mod entries;
mod figures;
pub(crate) mod findings;
mod footer;
mod graph;
pub(crate) mod groups;
pub mod header;
mod help;
mod holdings;
mod key_list;
mod palette;
mod pressure;
mod process;
mod states;
mod status;
pub(crate) mod sums;
mod table;
pub mod text;
pub mod theme;
pub(crate) mod timeline;
mod view;

use crate::app::sets::TableSet;
use crate::app::{App, Page};
use crate::canvas::Canvas;
use crate::layout::Screen;
use header::Summary;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;
use text::put;
use theme::{Ink, Theme};

/// Draws the screen. Returns the cursor's position, if it is visible. Table lines that the canvas
/// already shows are left alone.
pub fn draw(app: &App, theme: Theme, canvas: &mut Canvas) -> Option<(u16, u16)> {
    let (width, height) = canvas.size();
    if width == 0 || height == 0 {
        return None;
    }
    canvas.wear(theme);
    let cursor = draw_all(app, theme, canvas);
    if theme.ascii {
        canvas.write_in_ascii();
    }
    cursor
}

fn draw_all(app: &App, theme: Theme, canvas: &mut Canvas) -> Option<(u16, u16)> {
    let (width, height) = canvas.size();
    let fits = app.screen().filter(|_| app.size == (width, height));
    let drawn = app.help().is_none().then_some(app.page());
    if let (Some(screen), Some(frame), Some(Page::Table)) = (&fits, app.frame(), drawn) {
        (0..screen.body_y).for_each(|y| canvas.blank(y));
        table::draw(app, screen, theme, canvas);
        let summary = Summary::new(app, frame, theme, width.into());
        header::draw(app, frame, screen, &summary, theme, canvas.cells());
        if let Some(y) = screen.footer_y {
            canvas.blank(y);
            footer::draw(app, y, theme, canvas.cells());
        }
        let cursor = status::draw(app, frame, screen.status_y, &summary, theme, canvas.cells());
        palette::draw(app, screen, theme, canvas);
        return cursor;
    }
    canvas.blank_all();
    let screen = fits.clone();
    let cursor = draw_page(app, fits, theme, canvas.cells());
    if let (Some(screen), Some(_)) = (screen, app.frame()) {
        palette::draw(app, &screen, theme, canvas);
    }
    cursor
}

/// Draws everything but the table.
fn draw_page(
    app: &App,
    screen: Option<Screen>,
    theme: Theme,
    buf: &mut Buffer,
) -> Option<(u16, u16)> {
    let Rect { width, height, .. } = buf.area;
    let Some(screen) = screen else { return too_small(theme, buf) };
    let Some(frame) = app.frame() else {
        let wait = app.failure.clone().unwrap_or_else(|| "measuring the first window …".into());
        put(buf, 0, 0, width, &Line::styled("exactop", theme.style(Ink::Strong)));
        put(buf, 0, 1, width, &Line::raw(exactop_model::text::escape::harmless(&wait)));
        return None;
    };
    if let Some(help) = app.help() {
        help::draw(app, frame, help, theme, buf);
        if let Some(message) = app.message() {
            status::put_message(message, height - 1, theme, buf);
        }
        return None;
    }
    match app.page() {
        Page::ColumnChooser(chooser) => {
            let set = app.table.set.map(TableSet::definition);
            column_chooser::draw(chooser, set, theme, buf)
        }
        Page::Table => {}
        Page::Process(page) => process::draw(app, frame, page, &screen, theme, buf),
        Page::Groups(_) => groups::draw(app, frame, &screen, theme, buf),
        Page::Sums(_) => sums::draw(app, frame, &screen, theme, buf),
        Page::Findings(_) => findings::draw(app, frame, &screen, theme, buf),
        Page::Graph(task) => graph::draw(app, *task, &screen, theme, buf),
    }
    let summary = Summary::new(app, frame, theme, width.into());
    if !matches!(app.page(), Page::ColumnChooser(_)) {
        header::draw(app, frame, &screen, &summary, theme, buf);
        if let Some(y) = screen.footer_y {
            footer::draw(app, y, theme, buf);
        }
        return status::draw(app, frame, screen.status_y, &summary, theme, buf);
    }
    match app.prompt().is_some() || app.message().is_some() {
        true => status::draw(app, frame, height - 1, &summary, theme, buf),
        false => None,
    }
}

fn too_small(theme: Theme, buf: &mut Buffer) -> Option<(u16, u16)> {
    let text = format!("too small: {}x{}", buf.area.width, buf.area.height);
    let (least_w, least_h) = (crate::layout::MIN_WIDTH, crate::layout::MIN_HEIGHT);
    put(buf, 0, 0, u16::MAX, &Line::styled(text, theme.style(Ink::Strong)));
    put(buf, 0, 1, u16::MAX, &Line::raw(format!("exactop needs {least_w}x{least_h}")));
    None
}

/// Blanks a line and puts text on it.
fn put_whole(buf: &mut Buffer, y: u16, line: &Line) {
    let blank = " ".repeat(usize::from(buf.area.width));
    put(buf, 0, y, u16::MAX, &Line::raw(blank));
    put(buf, 0, y, u16::MAX, line);
}
