//! The page of totals by command, user, group, unit, container, pod, namespace or session: the use
//! and the limits of each, and the rows that waited or were throttled.

use super::figures::{
    column_at, joined, most_words, named, notes, row_of_line, rows_beside, titled, widths,
};
use super::text::{cut_middle, put};
use super::theme::{Ink, Theme};
use crate::app::App;
use crate::layout::Screen;
use exactop_model::frame::named_sums::NamedSums;
use exactop_model::words::named_sums::{heading, line, lost, without_groups, KEPT_OFF};
use exactop_model::Frame;
use ratatui_core::buffer::Buffer;
use ratatui_core::text::Line;
use unicode_width::UnicodeWidthStr;

/// Columns in the order in which a narrow screen leaves them out.
const GIVE_WAY: [&str; 7] = ["EXITED", "SHARE", "PROCS", "PERIODS", "WEIGHT", "LAT%", "THR%"];

pub(super) fn draw(app: &App, frame: &Frame, screen: &Screen, theme: Theme, buf: &mut Buffer) {
    let (y, height) = (screen.heading_y, screen.end_y());
    let Some(sums) = app.sums() else {
        let text = "totals: shown from the next window on";
        return put(buf, 0, y, u16::MAX, &Line::styled(text, theme.style(Ink::Dim)));
    };
    let Table { words, first, texts, mut titles, widths } = table(app, frame, sums, screen);
    let (at, width) = (app.selected_sum(), usize::from(buf.area.width));
    for (title, width) in titles.iter_mut().zip(&widths).filter(|(title, _)| *title == KEPT_OFF) {
        // It begins where the culprits do.
        *title = format!("{title:<0$}", width.saturating_sub(1));
    }
    put(buf, 0, y, u16::MAX, &Line::styled(joined(&titles, &widths), theme.style(Ink::Heading)));
    for ((y, text), index) in (y + 1..height).zip(&texts).zip(first..) {
        let ink = if index == at { Ink::Selected } else { Ink::Plain };
        let name = text.last().map_or("", String::as_str);
        let text = named(text, name, &widths, width);
        put(buf, 0, y, u16::MAX, &Line::styled(text, theme.style(ink)));
    }
    let below = y + 1 + u16::try_from(texts.len()).unwrap_or(0);
    for (y, text) in (below..height).zip(words) {
        put(buf, 0, y, u16::MAX, &Line::styled(text, theme.style(Ink::Dim)));
    }
}

/// The page as it is drawn.
struct Table {
    /// Notes below the rows.
    words: Vec<String>,
    /// The first row on the screen.
    first: usize,
    /// Cells of each row.
    texts: Vec<Vec<String>>,
    titles: Vec<String>,
    widths: Vec<usize>,
}

fn table(app: &App, frame: &Frame, sums: &NamedSums, screen: &Screen) -> Table {
    let width = usize::from(app.size().0);
    let words = words(sums, frame, most_words(screen), width);
    let rows = rows_beside(words.len(), screen);
    let first = (app.selected_sum() + 1).saturating_sub(rows);
    let shown = app.sum_rows().into_iter().skip(first).take(rows);
    let titles = heading(sums).to_vec();
    let mut texts: Vec<Vec<String>> =
        shown.map(|row| cells(&titles, line(frame, row), width)).collect();
    begin_in_one_column(&titles, &mut texts);
    // Culprits give way first, except where they are the subject.
    let culprits = app.starved_order().is_none().then_some(KEPT_OFF);
    let give_way: Vec<&str> = culprits.into_iter().chain(GIVE_WAY).collect();
    let (titles, give_way) = titled(titles, app.order_of_sums(), &give_way);
    let widths = widths(&titles, &texts, &give_way, width);
    Table { words, first, texts, titles, widths }
}

/// The column at a cell of the headings; `None`: another line.
pub(crate) fn heading_at(app: &App, x: u16, y: u16) -> Option<usize> {
    let (frame, sums, screen) = (app.frame()?, app.sums()?, app.screen()?);
    (y == screen.heading_y).then(|| column_at(x, &table(app, frame, sums, &screen).widths))
}

/// The cells of a row. Its culprits have half of the screen at most: its name comes after them.
fn cells(titles: &[String], mut texts: Vec<String>, width: usize) -> Vec<String> {
    for (text, _) in texts.iter_mut().zip(titles).filter(|(_, title)| *title == KEPT_OFF) {
        *text = cut_middle(text, width / 2);
    }
    texts
}

/// Gives all culprits the same width, and two blanks before the name: at the right they would read
/// as a part of it.
fn begin_in_one_column(titles: &[String], texts: &mut [Vec<String>]) {
    let Some(at) = titles.iter().position(|title| title == KEPT_OFF) else { return };
    if texts.iter().all(|text| text[at] == "-") {
        return; // the column is left out
    }
    let widest = texts.iter().map(|text| text[at].width()).max().unwrap_or(0);
    for text in texts {
        let blanks = (widest + 1).saturating_sub(text[at].width());
        text[at] += &" ".repeat(blanks);
    }
}

/// The row of a line of the screen; `None`: the line has none.
pub(crate) fn row_at(app: &App, y: u16) -> Option<usize> {
    let (frame, sums, screen) = (app.frame()?, app.sums()?, app.screen()?);
    let Table { first, texts, .. } = table(app, frame, sums, &screen);
    row_of_line(y, first, texts.len(), &screen).filter(|&row| row < app.sum_rows().len())
}

/// Notes: why names are missing, and the rows that were kept from running, the busiest first.
fn words(sums: &NamedSums, frame: &Frame, most: usize, width: usize) -> Vec<String> {
    let lost = sums.rows.iter().filter_map(|row| lost(sums, frame, row));
    notes(without_groups(sums, frame).into_iter().chain(lost), most, width)
}
