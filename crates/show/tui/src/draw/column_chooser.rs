//! The column chooser.

use super::text::{cell, put, wrapped};
use super::theme::{Ink, Theme};
use crate::app::column_chooser::{rows, ColumnChooser, HELP_LINES};
use crate::app::sets::SetDefinition;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};

/// `set`: the question that these columns answer.
pub(super) fn draw(
    chooser: &ColumnChooser,
    set: Option<&SetDefinition>,
    theme: Theme,
    buf: &mut Buffer,
) {
    let title = set.map_or("Columns".into(), |set| format!("Columns of {}", set.name));
    let Rect { width, height, .. } = buf.area;
    let count = chooser.chosen().len();
    let title = Line::from(vec![
        Span::styled(title, theme.style(Ink::Strong)),
        Span::raw(format!(
            "  {count} of {} chosen, sorted by {}",
            chooser.list.len(),
            chooser.sort.title
        )),
    ]);
    put(buf, 0, 0, width, &title);
    let keys = match chooser.moving {
        true => "↑↓ move the column   ← drop   ? help",
        false => "Space on, off  → grab, ↑↓ move, ← drop  s sort  / find  u undo  ? help  Esc back",
    };
    put(buf, 0, 1, width, &Line::styled(keys, theme.style(Ink::Dim)));
    let rows = rows(height);
    let first = (chooser.at + 1).saturating_sub(rows);
    let shown = chooser.list.iter().enumerate().skip(first).take(rows);
    for (y, (i, (column, chosen))) in (2u16..).zip(shown) {
        let at = i == chooser.at;
        let hand = match (at, chooser.moving) {
            (true, true) => "⇕",
            (true, false) => ">",
            _ => " ",
        };
        let mark = if *chosen { "[x]" } else { "[ ]" };
        let sort = if *column == chooser.sort { "*" } else { " " };
        let text = format!("{hand} {mark}{sort}{} {}", cell(column.title, 9, true), column.help);
        let ink = match (at, chosen) {
            (true, _) => Ink::Selected,
            (false, true) => Ink::Strong,
            (false, false) => Ink::Plain,
        };
        let text = cell(&text, usize::from(width), true);
        put(buf, 0, y, width, &Line::styled(text, theme.style(ink)));
    }
    let selected = chooser.list.get(chooser.at).map(|(column, _)| *column);
    let texts = selected.map(|column| {
        [column.help.to_string(), format!("Name: {}. Source: {}.", column.name, column.source)]
    });
    let lines = texts.iter().flatten().flat_map(|text| wrapped(text, 0, width.into()));
    let lines = lines.take(usize::from(HELP_LINES));
    for (y, line) in (height.saturating_sub(HELP_LINES)..height).zip(lines) {
        put(buf, 0, y, width, &line.style(theme.style(Ink::Dim)));
    }
}
