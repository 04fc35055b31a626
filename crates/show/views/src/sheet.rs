//! Room for a text: rows of a table, and columns of a screen. Long lines are wrapped; long names
//! are cut in the middle.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Room for a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sheet {
    /// Most rows of each table.
    pub rows: usize,
    /// Columns of the screen; `None`: unlimited.
    pub width: Option<usize>,
}

impl Sheet {
    /// Room for this number of rows of any width.
    pub fn rows(rows: usize) -> Sheet {
        Sheet { rows, width: None }
    }

    /// A line with its line break, wrapped on a narrow screen; continuation lines are indented by
    /// `indent`.
    pub(crate) fn line(&self, text: &str, indent: usize) -> String {
        match self.width {
            Some(width) if text.width() > width => wrapped(text, indent, width),
            _ => text.to_string() + "\n",
        }
    }
}

/// Wraps at blanks. A word longer than the screen stands alone.
fn wrapped(text: &str, indent: usize, width: usize) -> String {
    // On a very narrow screen a full indentation would leave no room.
    let indent = " ".repeat(indent.min(width / 2));
    let (mut out, mut line) = (String::new(), String::new());
    for word in words(text) {
        if !line.trim().is_empty() && line.width() + word.width() > width {
            out += &(line + "\n");
            line = indent.clone() + word.trim_start();
        } else {
            line += word;
        }
    }
    out + &line + "\n"
}

/// Words with the blanks before them, which separate columns. A figure and its unit stay with the
/// word that they describe.
fn words(text: &str) -> Vec<&str> {
    let (mut words, mut from) = (Vec::new(), 0);
    let is_figure = |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || c == '%');
    for (at, _) in text.match_indices(' ') {
        if !text[from..at].trim().is_empty() && !is_figure(&text[at + 1..]) {
            words.push(&text[from..at]);
            from = at;
        }
    }
    words.push(&text[from..]);
    words
}

/// A name in `width` columns: its middle is cut, a number at its end stays.
pub(crate) fn name(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.into();
    }
    let Some(room) = width.checked_sub(1) else { return String::new() };
    let number = number(text).filter(|number| number.width() < room);
    let end = number.unwrap_or_else(|| last(text, room / 2));
    format!("{}…{end}", first(text, room - end.width()))
}

/// The number ` (70)` or `/70` at the end.
fn number(text: &str) -> Option<&str> {
    let digits = text.strip_suffix(')').unwrap_or(text);
    let before = digits.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_one = before.len() < digits.len() && before.ends_with(['(', '/']);
    is_one.then(|| &text[before.len() - 1..])
}

/// A list in `width` columns: parts that do not fit are left out.
pub(crate) fn list(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.into();
    }
    let mut parts = text.rmatch_indices(", ").map(|(at, _)| format!("{}, ...", &text[..at]));
    parts.find(|part| part.width() <= width).unwrap_or_else(|| first("...", width).into())
}

/// The first part that fits.
fn first(text: &str, width: usize) -> &str {
    let mut used = 0;
    let too_far = |&(_, c): &(usize, char)| {
        used += c.width().unwrap_or(0);
        used > width
    };
    text.char_indices().find(too_far).map_or(text, |(at, _)| &text[..at])
}

/// The last part that fits.
fn last(text: &str, width: usize) -> &str {
    let mut used = 0;
    let too_far = |&(_, c): &(usize, char)| {
        used += c.width().unwrap_or(0);
        used > width
    };
    let end = text.char_indices().rev().find(too_far);
    end.map_or(text, |(at, c)| &text[at + c.len_utf8()..])
}

/// The text, asserted to fit a screen of this width.
#[cfg(test)]
pub(crate) fn fits(width: usize, text: impl Fn(Sheet) -> String) -> String {
    let text = text(Sheet { rows: 20, width: Some(width) });
    for line in text.lines() {
        assert!(line.width() <= width, "{} columns of {width}: {line}", line.width());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number_and_a_list_whole_parts() {
        assert_eq!(name("kworker/1:1 (27051)", 19), "kworker/1:1 (27051)");
        assert_eq!(name("kworker/1:1 (27051)", 14), "kworke…(27051)");
        assert_eq!(name("server/70", 8), "serv…/70");
        assert_eq!(name("tserver (70)", 5), "ts…0)");
        assert_eq!(name("日本語日本語", 7), "日本…語");
        assert_eq!([name("abc", 1), name("abc", 0)], ["…", ""]);
        assert_eq!(list("EAGAIN 1200, ENOENT 3", 21), "EAGAIN 1200, ENOENT 3");
        assert_eq!(list("EAGAIN 1200, ENOENT 3", 20), "EAGAIN 1200, ...");
        assert_eq!(list("EAGAIN 1200, ENOENT 3, ...", 22), "EAGAIN 1200, ...");
        assert_eq!([list("ETIMEDOUT 1200", 10), list("ETIMEDOUT 1200", 2)], ["...", ".."]);
    }

    #[test]
    fn lines_are_wrapped_at_blanks() {
        let sheet = |width| Sheet { rows: 1, width };
        assert_eq!(sheet(None).line("  a  bb ccc", 4), "  a  bb ccc\n");
        assert_eq!(sheet(Some(11)).line("  a  bb ccc", 4), "  a  bb ccc\n");
        assert_eq!(sheet(Some(10)).line("  a  bb ccc", 4), "  a  bb\n    ccc\n");
        assert_eq!(sheet(Some(4)).line("  a  bb ccc", 4), "  a\n  bb\n  ccc\n");
        assert_eq!(sheet(Some(3)).line("abcdef gh", 0), "abcdef\ngh\n");
        assert_eq!(sheet(Some(12)).line("LCK (futex 6.9) and", 1), "LCK\n (futex 6.9)\n and\n");
    }
}
