//! The help over a page: the explanation of the screen, the key list, or the glossary.

use super::entries::{entry, title};
use super::text::{pack, put, Piece};
use super::theme::{Ink, Theme};
use super::{key_list, put_whole};
use crate::app::help::{Help, HelpText};
use crate::app::App;
use crate::explanations::Explanation;
use exactop_model::Frame;
use ratatui_core::buffer::Buffer;
use ratatui_core::text::Line;

pub(super) fn draw(app: &App, frame: &Frame, help: Help, theme: Theme, buf: &mut Buffer) {
    let (width, height) = (buf.area.width, buf.area.height);
    let room = usize::from(width);
    let lines = match help.text {
        HelpText::Screen => {
            let samples = !frame.provenance.source.keeps_books();
            let has_reason = samples && frame.provenance.reason.is_some() && app.prompt().is_none();
            let source = has_reason.then(|| key_list::source(frame));
            explained(&app.topic().explanation(), source.as_deref(), room, theme)
        }
        HelpText::Keys => key_list::lines(frame, room, theme),
        HelpText::Glossary => glossary(room, theme),
        HelpText::Quality => key_list::quality(frame, room, theme),
    };
    let rows = usize::from(height.saturating_sub(1));
    let top = app.first_line(help.top, lines.len(), rows);
    for (y, line) in (0u16..).zip(lines.iter().skip(top).take(rows)) {
        put(buf, 0, y, width, line);
    }
    let shown = format!("lines {}-{} of {}", top + 1, (top + rows).min(lines.len()), lines.len());
    put_whole(buf, height - 1, &foot(help.text, shown, theme, room));
}

/// The keys of the help. A narrow screen leaves out the lowest ranks.
fn foot(text: HelpText, shown: String, theme: Theme, room: usize) -> Line<'static> {
    let piece = |rank, text: &'static str| Piece::new(rank, theme, Ink::Strong, text);
    let shown = Piece::new(6, theme, Ink::Strong, shown);
    let mut pieces = vec![shown, piece(5, "↑↓ PgUp PgDn scroll")];
    pieces.push(match text {
        HelpText::Screen => piece(8, "? glossary"),
        HelpText::Keys | HelpText::Glossary | HelpText::Quality => piece(8, "? this screen"),
    });
    if text != HelpText::Keys {
        pieces.push(piece(7, "h all keys"));
    }
    pieces.push(piece(9, "Esc back"));
    pack(pieces, "   ", room)
}

/// Width of the names in an explanation.
const NAMES: usize = 12;

/// `source`: the source and the reason for it, for which a narrow screen has no room.
fn explained(
    explanation: &Explanation,
    source: Option<&str>,
    width: usize,
    theme: Theme,
) -> Vec<Line<'static>> {
    let entries = |entries: &[(&str, &str)]| -> Vec<Line<'static>> {
        entries.iter().flat_map(|(name, text)| entry(name, text, NAMES, width, theme)).collect()
    };
    let mut lines = vec![title(explanation.title, theme)];
    lines.extend(source.iter().flat_map(|text| entry("source", text, NAMES, width, theme)));
    lines.extend(entries(explanation.parts));
    lines.extend([Line::default(), title("The most useful keys here", theme)]);
    lines.extend(entries(&explanation.keys));
    lines
}

const GLOSSARY: &str = include_str!("../../../../../docs/reference/glossary.md");

/// The glossary of the reference, without Markdown marks.
fn glossary(width: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = vec![title("Glossary", theme)];
    for section in GLOSSARY.split("\n## ").skip(1) {
        let heading = section.lines().next().unwrap_or_default();
        lines.extend([Line::default(), title(heading, theme)]);
        for item in section.split("\n- **").skip(1) {
            let item = item.split("\n\n").next().unwrap_or_default();
            let Some((word, meaning)) = item.split_once("**") else { continue };
            let meaning = meaning.trim_start_matches(": ").replace(['*', '`'], "");
            lines.extend(entry(word, &meaning, 20, width, theme));
        }
    }
    lines
}
