//! Scrolling of pages of text, by lines and screens.

use crate::keys::KeyCommand;

/// Scrolls a page of text. Drawing stops at its end.
pub(super) fn scroll_lines(top: &mut usize, command: KeyCommand, page: usize) {
    *top = scrolled(*top, command, page).unwrap_or(*top);
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
