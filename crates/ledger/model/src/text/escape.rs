//! Escapes text from the system before a view shows it: such text may be hostile.

use std::borrow::Cow;
use std::fmt::Write;
use unicode_width::UnicodeWidthChar;

/// Turns bytes of unknown origin into text that cannot move a cursor, ring a bell, reorder a line
/// or break a row. [`unescape`] restores the bytes. The escapes are:
/// - `\xNN`: a byte of a control character or of invalid UTF-8;
/// - `\u{NNNN}`: an invisible or direction-changing character, or a combining mark without a base
///   character;
/// - `\\`: a backslash.
pub fn escape(bytes: &[u8]) -> String {
    // Most names, at one glance.
    if bytes.iter().all(|&byte| matches!(byte, b' '..=b'~') && byte != b'\\') {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        let mut marks = Marks::default();
        for c in chunk.valid().chars() {
            match c {
                '\\' => {
                    marks = Marks::default();
                    out.push_str("\\\\");
                }
                c => push_harmless(&mut out, &mut marks, c),
            }
        }
        for b in chunk.invalid() {
            let _ = write!(out, "\\x{b:02x}");
        }
    }
    out
}

/// The text with `with` in place of every character that [`escape`] would escape.
pub fn replaced(bytes: &[u8], with: char) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        let mut marks = Marks::default();
        out.extend(chunk.valid().chars().map(|c| if marks.is_harmless(c) { c } else { with }));
        out.extend(chunk.invalid().iter().map(|_| with));
    }
    out
}

/// [`escape`] for valid UTF-8.
pub fn escape_str(text: &str) -> String {
    escape(text.as_bytes())
}

/// [`escape_str`] without doubling backslashes, for messages that may contain escaped names.
/// Harmless text stays as it is.
pub fn harmless(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut marks = Marks::default();
    message.chars().for_each(|c| push_harmless(&mut out, &mut marks, c));
    out
}

/// The bytes behind an escaped text; `None` if [`escape`] cannot return this text.
pub fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut left = text;
    while let Some(at) = left.find('\\') {
        out.extend_from_slice(&left.as_bytes()[..at]);
        let code = &left[at + 1..];
        left = match code.as_bytes().first()? {
            b'\\' => {
                out.push(b'\\');
                &code[1..]
            }
            b'x' => {
                out.push(u8::from_str_radix(code.get(1..3)?, 16).ok()?);
                &code[3..]
            }
            b'u' => {
                let (digits, rest) = code.strip_prefix("u{")?.split_once('}')?;
                let c = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                rest
            }
            _ => return None,
        };
    }
    out.extend_from_slice(left.as_bytes());
    Some(out)
}

/// A CSV cell for text. A spreadsheet executes text that begins with `=`, `+`, `-` or `@` as a
/// formula, so such text gets an apostrophe in front (OWASP, "CSV Injection"). Text that begins
/// with an apostrophe gets another one, so removing one apostrophe always restores the text.
pub fn csv_cell(text: &str) -> Cow<'_, str> {
    match text.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠', '\t', '\r', '\'']) {
        true => format!("'{text}").into(),
        false => text.into(),
    }
}

/// Most combining marks on one character; languages need no more. Longer stacks reach over the
/// lines above and below.
const MARKS: u8 = 2;

/// Number of combining marks that may still follow.
#[derive(Default)]
struct Marks(u8);

impl Marks {
    /// True if the character changes only its own cell, after the characters before.
    fn is_harmless(&mut self, c: char) -> bool {
        if matches!(c, ' '..='~') {
            self.0 = if c == ' ' { 0 } else { MARKS };
            return true;
        }
        let left = match c.width() {
            _ if c.is_control() || changes_layout(c) => None,
            // A mark without a base would combine with the text before.
            Some(0) => self.0.checked_sub(1),
            _ if c.is_whitespace() => Some(0),
            _ => Some(MARKS),
        };
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

/// Writes a one-byte character as `\xNN` and others as `\u{NNNN}`, so that no character looks like
/// a byte of invalid UTF-8.
fn push_harmless(out: &mut String, marks: &mut Marks, c: char) {
    let _ = match c as u32 {
        _ if marks.is_harmless(c) => return out.push(c),
        byte @ (0..0x20 | 0x7f) => write!(out, "\\x{byte:02x}"),
        code => write!(out, "\\u{{{code:x}}}"),
    };
}

/// True for characters without a visible form or with an effect on layout: zero-width,
/// line-separating and bidirectional ones, variation selectors and fillers, and non-characters,
/// which XML forbids.
fn changes_layout(c: char) -> bool {
    matches!(c as u32,
        0xad | 0x34f | 0x61c | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f
        | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f | 0xfeff
        | 0xffa0 | 0xfff9..=0xfffb | 0xfffe | 0xffff | 0xe0000..=0xe01ef)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_text_stays() {
        assert_eq!(escape("naïve 日本".as_bytes()), "naïve 日本");
    }

    #[test]
    fn controls_and_invalid_utf8_are_escaped() {
        assert_eq!(escape(b"a\x1b]0;x\x07\n\xff"), "a\\x1b]0;x\\x07\\x0a\\xff");
        assert_eq!(escape("\u{9b}31m".as_bytes()), "\\u{9b}31m");
    }

    #[test]
    fn direction_marks_are_escaped() {
        assert_eq!(escape("\u{202e}txt".as_bytes()), "\\u{202e}txt");
    }

    #[test]
    fn marks_stay_on_their_character() {
        let accents = "e\u{301} ọ\u{302} กี้";
        assert_eq!(escape(accents.as_bytes()), accents);
        assert_eq!(escape("\u{301}a".as_bytes()), "\\u{301}a");
        assert_eq!(escape("a \u{301}".as_bytes()), "a \\u{301}");
        assert_eq!(escape("\u{200b}\u{301}".as_bytes()), "\\u{200b}\\u{301}");
        assert_eq!(escape(b"\xff\xcc\x81"), "\\xff\\u{301}");
        let tower = format!("Z{}", "\u{350}".repeat(40));
        assert_eq!(escape(tower.as_bytes()).matches('\u{350}').count(), 2);
        assert_eq!(harmless(&tower), escape(tower.as_bytes()));
        assert_eq!(replaced(tower.as_bytes(), '?'), "Z\u{350}\u{350}".to_owned() + &"?".repeat(38));
        for unseen in ["\u{fe0f}", "\u{3164}", "\u{e0101}"] {
            assert!(escape(format!("a{unseen}").as_bytes()).starts_with("a\\u{"), "{unseen:?}");
        }
    }

    #[test]
    fn text_that_looks_escaped_is_distinguished_from_escaped_text() {
        assert_eq!(escape(b"\\x1b"), "\\\\x1b");
        assert_ne!(escape(b"\\x1b"), escape(b"\x1b"));
        assert_ne!(escape(b"\x9b"), escape("\u{9b}".as_bytes()));
        for nonsense in ["\\", "\\x", "\\x1", "\\xzz", "\\u{}", "\\u{110000}", "\\u{1", "\\q"] {
            assert_eq!(unescape(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn a_harmless_message_stays_as_it_is() {
        let name = escape(b"a\x1bb\\");
        assert_eq!(harmless(&name), name);
        assert_eq!(harmless("\x1b[2J"), "\\x1b[2J");
    }

    #[test]
    fn formulas_become_text_and_other_cells_stay() {
        for formula in ["=cmd|' /C calc'!A0", "+1", "-1+1", "@SUM(A1)", "＝1", "'=1"] {
            assert_eq!(csv_cell(formula), format!("'{formula}"));
        }
        for text in ["sh", "", "1", "a=b", "\\x09=1", "/a-b"] {
            assert_eq!(csv_cell(text), text);
        }
    }

    proptest! {
        #[test]
        fn unescape_restores_escaped_bytes(bytes: Vec<u8>, text: String) {
            prop_assert_eq!(unescape(&escape(&bytes)), Some(bytes));
            prop_assert_eq!(unescape(&escape_str(&text)), Some(text.into_bytes()));
        }

        #[test]
        fn unescape_restores_text_that_looks_escaped(text in r"[\\xu{}0-9a-f\x1b]{0,12}") {
            prop_assert_eq!(unescape(&escape_str(&text)), Some(text.into_bytes()));
        }
    }
}
