//! The line of keys at the bottom: the most useful keys of the page.

use super::put;
use super::text::{pack, Piece};
use super::theme::{Ink, Theme};
use crate::app::process::Shows;
use crate::app::{App, Page};
use ratatui_core::buffer::Buffer;
use ratatui_core::text::Line;

/// A key, its word, and its rank: the lowest ranks are left out first.
type Hint = (&'static str, &'static str, u8);

const LIVE: [Hint; 16] = [
    ("?", "help", 20),
    ("Enter", "process", 18),
    ("!", "findings", 13),
    ("1-6", "who", 15),
    ("g", "groups", 12),
    ("K", "totals", 14),
    ("S", "states", 12),
    ("/", "search", 16),
    ("\\", "filter", 11),
    ("V", "tree", 10),
    ("t", "thread tree", 6),
    ("<>", "sort", 9),
    ("k", "kill", 17),
    ("y", "calls", 7),
    ("[", "history", 8),
    ("q", "quit", 19),
];

const PAST: [Hint; 9] = [
    ("?", "help", 20),
    ("←→", "window", 18),
    ("[]", "change", 17),
    ("t", "time", 16),
    ("z", "join", 15),
    ("Enter", "process", 14),
    ("g", "groups", 12),
    ("/", "search", 13),
    ("q", "quit", 19),
];

/// Keys while the last windows of a live machine are shown.
const KEPT: [Hint; 6] = [
    ("?", "help", 20),
    ("[ ]", "window", 18),
    ("z", "join", 15),
    ("Enter", "process", 14),
    ("Esc", "present", 19),
    ("q", "quit", 17),
];

const PROCESS: [Hint; 10] = [
    ("?", "help", 18),
    ("Esc", "back", 20),
    ("y", "calls", 19),
    ("e", "environment", 15),
    ("l", "files", 16),
    ("S", "states", 14),
    ("g", "its group", 13),
    ("↑↓", "threads", 12),
    ("k", "kill", 18),
    ("r", "nice", 11),
];

const CALLS: [Hint; 5] = [
    ("?", "help", 18),
    ("Esc", "back", 20),
    ("↑↓", "scroll", 16),
    ("g", "its group", 14),
    ("k", "kill", 17),
];

const HOLDINGS: [Hint; 6] = [
    ("?", "help", 18),
    ("Esc", "back", 20),
    ("↑↓", "scroll", 19),
    ("e", "environment", 16),
    ("l", "files", 15),
    ("k", "kill", 17),
];

const GROUPS: [Hint; 8] = [
    ("?", "help", 18),
    ("Esc", "back", 20),
    ("↑↓", "choose", 17),
    ("Enter", "its processes", 19),
    ("<>", "sort", 14),
    ("K", "totals", 13),
    ("w", "weight", 16),
    ("x", "quota", 15),
];

const SUMS: [Hint; 7] = [
    ("?", "help", 18),
    ("Esc", "back", 20),
    ("K", "next total", 19),
    ("↑↓", "choose", 16),
    ("Enter", "its processes", 17),
    ("<>", "sort", 15),
    ("g", "groups", 14),
];

const GRAPH: [Hint; 3] = [("?", "help", 18), ("Esc", "back", 20), ("Enter", "process", 19)];

const FINDINGS: [Hint; 4] =
    [("?", "help", 18), ("Esc", "back", 20), ("↑↓", "choose", 17), ("Enter", "details", 19)];

/// Keys that act on processes; earlier windows have no living processes.
const ACTING: [&str; 4] = ["k", "r", "w", "x"];

/// The keys that work now.
fn hints(app: &App) -> impl Iterator<Item = &'static Hint> {
    let acts = app.past.is_none();
    of_page(app).iter().filter(move |(key, ..)| acts || !ACTING.contains(key))
}

fn of_page(app: &App) -> &'static [Hint] {
    match (app.page(), &app.past) {
        (Page::Process(page), _) => match page.shows {
            Shows::Overview => &PROCESS,
            Shows::Calls => &CALLS,
            Shows::Environment | Shows::Files => &HOLDINGS,
        },
        (Page::Groups(_), _) => &GROUPS,
        (Page::Sums(_), _) => &SUMS,
        (Page::Findings(_), _) => &FINDINGS,
        (Page::Graph(_), _) => &GRAPH,
        // This page has a line of its own.
        (Page::ColumnChooser(_), _) => &[],
        (Page::Table, Some(past)) if past.kept => &KEPT,
        (Page::Table, Some(_)) => &PAST,
        (Page::Table, None) => &LIVE,
    }
}

pub(super) fn draw(app: &App, y: u16, theme: Theme, buf: &mut Buffer) {
    let piece = |&(key, word, rank): &Hint| {
        Piece::new(rank, theme, Ink::Strong, key).and(theme, Ink::Dim, " ").and(
            theme,
            Ink::Dim,
            word,
        )
    };
    let pieces = hints(app).map(piece).collect();
    let line: Line = pack(pieces, "  ", usize::from(buf.area.width));
    put(buf, 0, y, u16::MAX, &line);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{find, BINDINGS};
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    /// Letters and signs in hints are keys of the view.
    #[test]
    fn every_key_that_is_named_is_one() {
        let all = [
            &LIVE[..],
            &KEPT,
            &PAST,
            &PROCESS,
            &CALLS,
            &HOLDINGS,
            &GROUPS,
            &SUMS,
            &FINDINGS,
            &GRAPH,
        ];
        let names: Vec<String> = BINDINGS.iter().flat_map(|b| b.keys).map(|k| k.name()).collect();
        for (key, word, _) in all.into_iter().flatten() {
            let named = |c: char| {
                let event = KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
                find(&event, true).is_some() || names.contains(&c.to_string())
            };
            assert!(names.iter().any(|n| n == key) || key.chars().all(named), "{key} {word}");
        }
    }
}
