//! The column chooser.

use super::text::{cell, put};
use super::theme::{Ink, Theme};
use crate::app::fields::Fields;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

pub(super) fn draw(fields: &Fields, theme: Theme, buf: &mut Buffer) {
    let Rect { width, height, .. } = buf.area;
    let count = fields.chosen().len();
    let title = Line::from(vec![
        Span::styled("Columns", theme.style(Ink::Strong)),
        Span::raw(format!(
            "  {count} of {} chosen, sorted by {}",
            fields.list.len(),
            fields.sort.title
        )),
    ]);
    put(buf, 0, 0, width, &title);
    let keys = match fields.moving {
        true => "↑↓ move the column   ← let go",
        false => "Space choose   → grab, ↑↓ move, ← let go   s sort by it   Esc back",
    };
    put(buf, 0, 1, width, &Line::styled(keys, theme.style(Ink::Dim)));
    let rows = usize::from(height.saturating_sub(3));
    let first = (fields.at + 1).saturating_sub(rows);
    let shown = fields.list.iter().enumerate().skip(first).take(rows);
    for (y, (i, (column, chosen))) in (2u16..).zip(shown) {
        let at = i == fields.at;
        let hand = match (at, fields.moving) {
            (true, true) => "⇕",
            (true, false) => ">",
            _ => " ",
        };
        let mark = if *chosen { "[x]" } else { "[ ]" };
        let sort = if *column == fields.sort { "*" } else { " " };
        let text = format!("{hand} {mark}{sort}{} {}", cell(column.title, 9, true), column.help);
        let ink = match (at, chosen) {
            (true, _) => Ink::Selected,
            (false, true) => Ink::Strong,
            (false, false) => Ink::Plain,
        };
        let text = cell(&text, usize::from(width), true);
        put(buf, 0, y, width, &Line::styled(text, theme.style(ink)));
    }
}
