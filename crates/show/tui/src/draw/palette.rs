//! The lines below a question: actions or completions.

use super::put;
use super::text::{cell, cut};
use super::theme::{Ink, Theme};
use crate::app::question::Question;
use crate::app::App;
use crate::canvas::Canvas;
use crate::layout::Screen;
use ratatui_core::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

/// Draws the lines over the rows of the page.
pub(super) fn draw(app: &App, screen: &Screen, theme: Theme, canvas: &mut Canvas) {
    let Some(prompt) = app.prompt().filter(|_| app.help().is_none()) else { return };
    let is_palette = prompt.question == Question::Command;
    let lines = app.suggestions();
    let at = match is_palette {
        true => Some(prompt.at),
        false => prompt
            .completed
            .as_ref()
            .and_then(|(_, text)| lines.iter().position(|line| line.text == *text)),
    };
    let rows = usize::from(screen.body_rows);
    let first = (at.unwrap_or(0) + 1).saturating_sub(rows);
    let width = usize::from(canvas.size().0);
    if lines.is_empty() && is_palette {
        canvas.blank(screen.body_y);
        let none = Line::styled("no action has this name", theme.style(Ink::Dim));
        put(canvas.cells(), 0, screen.body_y, u16::MAX, &none);
    }
    let names = lines.iter().map(|line| line.text.width()).max().unwrap_or(0).min(width / 3);
    let keys = lines.iter().map(|line| line.keys.width()).max().unwrap_or(0);
    for (y, (n, line)) in (screen.body_y..).zip(lines.iter().enumerate().skip(first).take(rows)) {
        let mark = if Some(n) == at { "> " } else { "  " };
        let head = format!("{mark}{}  ", cell(&line.text, names, true));
        let key =
            if is_palette { format!("{}  ", cell(&line.keys, keys, true)) } else { "".into() };
        let help = cut(&line.help, width.saturating_sub(head.width() + key.width()));
        let mut spans = vec![
            Span::styled(head, theme.style(Ink::Strong)),
            Span::raw(key),
            Span::styled(help, theme.style(Ink::Dim)),
        ];
        if Some(n) == at {
            let text: String = spans.iter().map(|span| span.content.as_ref()).collect();
            spans = vec![Span::styled(cell(&text, width, true), theme.style(Ink::Selected))];
        }
        canvas.blank(y);
        put(canvas.cells(), 0, y, u16::MAX, &Line::from(spans));
    }
}
