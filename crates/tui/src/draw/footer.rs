//! The line of keys at the bottom: what hands want most.

use super::put;
use super::text::{pack, Piece};
use super::theme::{Ink, Theme};
use crate::app::App;
use ratatui::buffer::Buffer;
use ratatui::text::Line;

/// A key, its word, and how late it is left out.
type Hint = (&'static str, &'static str, u8);

const LIVE: [Hint; 13] = [
    ("h", "help", 20),
    ("Enter", "process", 18),
    ("!", "findings", 13),
    ("g", "groups", 15),
    ("K", "totals", 14),
    ("m", "states", 12),
    ("/", "search", 16),
    ("o", "filter", 11),
    ("t", "tree", 10),
    ("<>", "sort", 9),
    ("k", "kill", 17),
    ("[", "back", 8),
    ("q", "quit", 19),
];

const PAST: [Hint; 9] = [
    ("h", "help", 20),
    ("←→", "window", 18),
    ("[]", "change", 17),
    ("t", "time", 16),
    ("z", "join", 15),
    ("Enter", "process", 14),
    ("g", "groups", 12),
    ("/", "search", 13),
    ("q", "quit", 19),
];

/// The last windows of a machine that goes on.
const KEPT: [Hint; 7] = [
    ("h", "help", 20),
    ("←→", "window", 18),
    ("[]", "change", 16),
    ("z", "join", 15),
    ("Enter", "process", 14),
    ("Esc", "back to now", 19),
    ("q", "quit", 17),
];

pub(super) fn draw(app: &App, y: u16, theme: Theme, buf: &mut Buffer) {
    let hints: &[Hint] = match &app.past {
        Some(past) if past.kept => &KEPT,
        Some(_) => &PAST,
        None => &LIVE,
    };
    let piece = |&(key, word, rank): &Hint| {
        Piece::new(rank, theme, Ink::Strong, key).and(theme, Ink::Dim, format!(" {word}"))
    };
    let line: Line = pack(hints.iter().map(piece).collect(), "  ", usize::from(buf.area.width));
    put(buf, 0, y, u16::MAX, &line);
}
