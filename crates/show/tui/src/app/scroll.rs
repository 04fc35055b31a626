//! Scrolling of pages of text, by lines and screens.

use super::App;
use crate::keys::KeyCommand;

impl App {
    /// The first line to draw of a text of `lines` lines with `room` on the screen. It is noted, so
    /// that a key scrolls from there and not from beyond the end.
    pub(crate) fn first_line(&self, top: usize, lines: usize, room: usize) -> usize {
        let last = lines.saturating_sub(room.max(1));
        self.last_top.set(last);
        top.min(last)
    }
}

/// Scrolls a page of text. Drawing stops at its end. True if the key scrolls.
pub(super) fn scroll_lines(top: &mut usize, command: KeyCommand, page: usize) -> bool {
    let to = scrolled(*top, command, page);
    *top = to.unwrap_or(*top);
    to.is_some()
}

/// The first line of a page of text after a key; `None`: the key does not scroll.
pub(super) fn scrolled(top: usize, command: KeyCommand, page: usize) -> Option<usize> {
    let page = page.saturating_sub(4).max(1);
    Some(match command {
        KeyCommand::Up => top.saturating_sub(1),
        KeyCommand::Down => top + 1,
        KeyCommand::PageUp => top.saturating_sub(page),
        KeyCommand::PageDown => top + page,
        KeyCommand::Home => 0,
        KeyCommand::End => usize::MAX / 2,
        _ => return None,
    })
}
