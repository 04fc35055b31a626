//! Titles and entries of the help texts.

use super::text::{cell, wrapped};
use super::theme::{Ink, Theme};
use ratatui_core::text::{Line, Span};

/// A heading.
pub(super) fn title(text: &str, theme: Theme) -> Line<'static> {
    Line::styled(text.to_string(), theme.style(Ink::Strong))
}

/// A name with its explanation, wrapped.
pub(super) fn entry(
    name: &str,
    text: &str,
    indent: usize,
    width: usize,
    theme: Theme,
) -> Vec<Line<'static>> {
    let mut lines = wrapped(text, indent + 2, width);
    let head = format!("  {}", cell(name, indent - 1, true));
    if let Some(first) = lines.first_mut() {
        let rest = first.spans.pop().map_or(String::new(), |s| s.content.trim_start().to_string());
        *first = Line::from(vec![
            Span::styled(head, theme.style(Ink::Strong)),
            Span::raw(" "),
            Span::raw(rest),
        ]);
    }
    lines
}
