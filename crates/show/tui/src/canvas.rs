//! The screen now and before. Only rows that are drawn again are compared and written, so a table
//! that hardly changes costs hardly anything.

use crate::app::arrange::RowId;
use crate::app::shown::Facts;
use crate::draw::text::StyledText;
use crate::draw::theme::Theme;
use ratatui_core::backend::Backend;
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use unicode_width::UnicodeWidthStr;

/// What is known about a row of the screen.
#[derive(Clone, Debug, Default)]
enum Shows {
    /// Unknown content.
    #[default]
    Something,
    /// A blank row.
    Blank,
    /// A line of the table, and whether it is selected.
    Line(Rc<Facts>, bool),
}

/// The cells, and what the terminal shows.
#[derive(Debug, Default)]
pub struct Canvas {
    now: Buffer,
    was: Buffer,
    shows: Vec<Shows>,
    drawn: Vec<bool>,
    /// Formatted lines of the table.
    texts: FxHashMap<RowId, (Rc<Facts>, Rc<StyledText>)>,
    /// The theme of those lines.
    theme: Option<Theme>,
}

impl Canvas {
    /// An empty screen.
    pub fn new(width: u16, height: u16) -> Canvas {
        let mut canvas = Canvas::default();
        canvas.resize(width, height);
        canvas
    }

    /// Width and height.
    pub fn size(&self) -> (u16, u16) {
        (self.now.area.width, self.now.area.height)
    }

    /// Sets the size; assumes a blank terminal.
    pub(crate) fn resize(&mut self, width: u16, height: u16) {
        let area = Rect::new(0, 0, width, height);
        self.now = Buffer::empty(area);
        self.was = Buffer::empty(area);
        self.shows = vec![Shows::Something; usize::from(height)];
        self.drawn = vec![true; usize::from(height)];
    }

    /// Sets the theme. After a change everything is drawn again.
    pub(crate) fn wear(&mut self, theme: Theme) {
        if self.theme.replace(theme) != Some(theme) {
            self.texts.clear();
            self.shows.fill_with(Shows::default);
        }
    }

    /// Replaces the drawn characters by ASCII.
    pub(crate) fn write_in_ascii(&mut self) {
        let drawn = (0u16..).zip(&self.drawn).filter(|(_, drawn)| **drawn).map(|(y, _)| y);
        for y in drawn.collect::<Vec<_>>() {
            let row = row(&self.now, y);
            for cell in &mut self.now.content[row] {
                if !cell.symbol().is_ascii() {
                    let plain = ascii(cell.symbol());
                    cell.set_char(plain);
                }
            }
        }
    }

    /// The cells, for drawing on rows that were blanked before.
    pub fn cells(&mut self) -> &mut Buffer {
        &mut self.now
    }

    /// The drawn lines as text, up to the last with content, without trailing blanks.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        let row_text = |y| {
            let (mut text, mut covered) = (String::new(), 0);
            for cell in &self.now.content[row(&self.now, y)] {
                // A wide character also covers the next cell.
                if covered == 0 {
                    text.push_str(cell.symbol());
                    covered = cell.symbol().width().max(1);
                }
                covered -= 1;
            }
            text.trim_end().to_string()
        };
        let mut lines: Vec<String> = (0..self.now.area.height).map(row_text).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    /// Blanks a row for drawing.
    pub(crate) fn blank(&mut self, y: u16) {
        let at = usize::from(y);
        self.shows[at] = Shows::Something;
        self.drawn[at] = true;
        let row = row(&self.now, y);
        self.now.content[row].fill(Cell::EMPTY);
    }

    /// Blanks all rows.
    pub(crate) fn blank_all(&mut self) {
        (0..self.now.area.height).for_each(|y| self.blank(y));
    }

    /// Leaves a row blank.
    pub(crate) fn leave_blank(&mut self, y: u16) {
        if !matches!(self.shows[usize::from(y)], Shows::Blank) {
            self.blank(y);
            self.shows[usize::from(y)] = Shows::Blank;
        }
    }

    /// True if a row already shows this line; else blanks the row, and the line must be drawn.
    pub(crate) fn shows_line(&mut self, y: u16, facts: &Rc<Facts>, selected: bool) -> bool {
        let at = usize::from(y);
        if let Shows::Line(line, was_selected) = &self.shows[at] {
            if Rc::ptr_eq(line, facts) && *was_selected == selected {
                return true;
            }
        }
        self.blank(y);
        self.shows[at] = Shows::Line(facts.clone(), selected);
        false
    }

    /// The text of a line: the cached one, unless its facts changed.
    pub(crate) fn text(
        &mut self,
        id: RowId,
        facts: &Rc<Facts>,
        say: impl FnOnce() -> StyledText,
    ) -> Rc<StyledText> {
        if let Some((_, text)) = self.texts.get(&id).filter(|(said, _)| Rc::ptr_eq(said, facts)) {
            return text.clone();
        }
        let text = Rc::new(say());
        self.texts.insert(id, (facts.clone(), text.clone()));
        text
    }

    /// Drops the texts of lines that have left the screen.
    pub(crate) fn forget_texts(&mut self, most: usize) {
        if self.texts.len() > most {
            // No row shows a line whose only owner is this map.
            self.texts.retain(|_, (facts, _)| Rc::strong_count(facts) > 1);
        }
    }

    /// Writes the changes to the terminal.
    ///
    /// # Errors
    /// The backend fails.
    pub fn write<B: Backend>(&mut self, backend: &mut B) -> Result<(), B::Error> {
        let Canvas { now, was, drawn, .. } = self;
        let rows = (0u16..).zip(drawn.iter()).filter(|(_, drawn)| **drawn);
        let changes = rows.flat_map(|(y, _)| {
            let row = row(now, y);
            changes(y, &now.content[row.clone()], &was.content[row])
        });
        backend.draw(changes)?;
        for (y, drawn) in (0u16..).zip(drawn) {
            if std::mem::take(drawn) {
                let row = row(now, y);
                was.content[row.clone()].clone_from_slice(&now.content[row]);
            }
        }
        Ok(())
    }
}

/// The ASCII replacement of a character. Higher bars become darker characters; marks of states and
/// accounts stay distinct; letters of a name become `?`.
pub(crate) fn ascii(symbol: &str) -> char {
    match symbol.chars().next() {
        Some('▁') => '_',
        Some('▂' | '·') => '.',
        Some('░') => 's',
        Some('▃' | '▒') => ':',
        Some('▄') => '-',
        Some('▅') => '=',
        Some('▆') => '+',
        Some('▇' | '▓' | '◆') => '*',
        Some('█') => '@',
        Some('│') => '|',
        Some('├' | '⇕') => '+',
        Some('└') => '`',
        Some('━' | '─' | '−' | '╶') => '-',
        Some('▾' | '↓') => 'v',
        Some('▴' | '↑') => '^',
        Some('←') => '<',
        Some('→') => '>',
        Some('×') => 'x',
        Some('…') => '~',
        Some('µ') => 'u',
        Some('’') => '\'',
        _ => '?',
    }
}

fn row(buf: &Buffer, y: u16) -> std::ops::Range<usize> {
    let width = usize::from(buf.area.width);
    let from = usize::from(y) * width;
    from..from + width
}

/// The cells of a row to write. A cell covered by a wide character is not written; one that was
/// covered before is.
fn changes<'a>(
    y: u16,
    now: &'a [Cell],
    was: &'a [Cell],
) -> impl Iterator<Item = (u16, u16, &'a Cell)> {
    let (mut covered, mut uncovered) = (0, 0);
    (0u16..).zip(now.iter().zip(was)).filter_map(move |(x, (now, was))| {
        let is_covered = covered > 0;
        let changed = !is_covered && (now != was || uncovered > 0);
        let (width, old_width) = (extra(now), extra(was));
        covered = if is_covered { covered - 1 } else { width };
        uncovered = old_width.max(if changed { width } else { 0 }).max(uncovered.max(1) - 1);
        changed.then_some((x, y, now))
    })
}

/// Cells that a symbol takes beyond its own.
fn extra(cell: &Cell) -> usize {
    let symbol = cell.symbol();
    match symbol.len() {
        0 | 1 => 0,
        _ => symbol.width().saturating_sub(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui_core::backend::TestBackend;
    use ratatui_core::style::Style;

    fn written(canvas: &mut Canvas, lines: &[&str]) -> Vec<String> {
        let mut backend = TestBackend::new(8, 2);
        for line in lines {
            canvas.blank(1);
            canvas.cells().set_string(0, 1, line, Style::new());
            canvas.write(&mut backend).unwrap();
        }
        (0..2)
            .map(|y| (0..8).map(|x| backend.buffer()[(x, y)].symbol().to_string()).collect())
            .collect()
    }

    #[test]
    fn the_terminal_shows_what_was_drawn_last() {
        let wide = ["日本語 x", "a日本 yz", "日本語x", "abcdefg", "日b", "", "é ü", "日本日本"];
        for first in wide {
            for second in wide {
                let mut both = Canvas::new(8, 2);
                let shown = written(&mut both, &[first, second]);
                assert_eq!(both.now, both.was);
                // A covered cell of the test backend keeps its old content, so the test compares
                // the visible text.
                let alone = written(&mut Canvas::new(8, 2), &[second]);
                assert_eq!(visible(&shown[1]), visible(&alone[1]), "{first} then {second}");
            }
        }
    }

    /// The row without the cells under wide characters.
    fn visible(row: &str) -> String {
        let (mut text, mut covered) = (String::new(), 0);
        for symbol in row.chars() {
            if covered > 0 {
                covered -= 1;
                continue;
            }
            covered = symbol.to_string().width().saturating_sub(1);
            text.push(symbol);
        }
        text
    }

    #[test]
    fn rows_that_were_not_drawn_are_not_written() {
        let mut canvas = Canvas::new(8, 2);
        assert_eq!(written(&mut canvas, &["one"])[1], "one     ");
        let mut backend = TestBackend::new(8, 2);
        canvas.write(&mut backend).unwrap();
        assert!(backend.buffer().content.iter().all(|cell| cell.symbol() == " "));
    }
}
