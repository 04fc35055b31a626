//! Text that came from the system is hostile: made harmless here before anyone shows it.

use std::borrow::Cow;
use std::fmt::Write;

/// Turns bytes of unknown origin into text that cannot move a cursor, ring a bell, reorder a line
/// or break a row. What it stands for can be told for certain ([`unescape`]): `\xNN` is a byte, of a
/// control character or of what is not UTF-8; `\u{NNNN}` an invisible or direction-changing
/// character; `\\` a backslash.
pub fn escape(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                c => push_harmless(&mut out, c),
            }
        }
        for b in chunk.invalid() {
            let _ = write!(out, "\\x{b:02x}");
        }
    }
    out
}

/// [`escape`] for text that is UTF-8 already.
pub fn escape_str(text: &str) -> String {
    escape(text.as_bytes())
}

/// [`escape_str`] without doubling backslashes: for messages, which may hold names that are escaped
/// already. What was harmless stays as it is.
pub fn harmless(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    message.chars().for_each(|c| push_harmless(&mut out, c));
    out
}

/// What was escaped; `None`: it is nothing that [`escape`] yields.
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

/// A cell of CSV that is text, not a number. Spreadsheets take one that begins with `=`, `+`, `-` or
/// `@` for a formula and carry it out, so it gets an apostrophe in front (OWASP, "CSV Injection"). One that
/// begins with an apostrophe gets another, so that taking one away always yields the text.
pub fn csv_cell(text: &str) -> Cow<'_, str> {
    match text.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠', '\t', '\r', '\'']) {
        true => format!("'{text}").into(),
        false => text.into(),
    }
}

/// A byte by its number where the character is one, so that no character looks like a byte that is
/// not UTF-8.
fn push_harmless(out: &mut String, c: char) {
    let _ = match c as u32 {
        byte @ (0..0x20 | 0x7f) => write!(out, "\\x{byte:02x}"),
        code if c.is_control() || changes_layout(c) => write!(out, "\\u{{{code:x}}}"),
        _ => return out.push(c),
    };
}

/// Zero-width, line-separating and bidirectional control characters, and what is no character, which
/// XML does not take.
fn changes_layout(c: char) -> bool {
    matches!(c as u32,
        0xad | 0x61c | 0x180e | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff
        | 0xfff9..=0xfffb | 0xfffe | 0xffff | 0xe0000..=0xe007f)
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
    fn direction_changes_are_escaped() {
        assert_eq!(escape("\u{202e}txt".as_bytes()), "\\u{202e}txt");
    }

    #[test]
    fn what_looks_escaped_is_told_from_what_is() {
        assert_eq!(escape(b"\\x1b"), "\\\\x1b");
        assert_ne!(escape(b"\\x1b"), escape(b"\x1b"));
        assert_ne!(escape(b"\x9b"), escape("\u{9b}".as_bytes()));
        for nonsense in ["\\", "\\x", "\\x1", "\\xzz", "\\u{}", "\\u{110000}", "\\u{1", "\\q"] {
            assert_eq!(unescape(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn a_message_that_is_harmless_stays() {
        let name = escape(b"a\x1bb\\");
        assert_eq!(harmless(&name), name);
        assert_eq!(harmless("\x1b[2J"), "\\x1b[2J");
    }

    #[test]
    fn formulas_become_text_and_all_else_stays() {
        for formula in ["=cmd|' /C calc'!A0", "+1", "-1+1", "@SUM(A1)", "＝1", "'=1"] {
            assert_eq!(csv_cell(formula), format!("'{formula}"));
        }
        for text in ["sh", "", "1", "a=b", "\\x09=1", "/a-b"] {
            assert_eq!(csv_cell(text), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_escaped_can_be_had_back(bytes: Vec<u8>, text: String) {
            prop_assert_eq!(unescape(&escape(&bytes)), Some(bytes));
            prop_assert_eq!(unescape(&escape_str(&text)), Some(text.into_bytes()));
        }

        #[test]
        fn names_of_escapes_can_be_had_back(text in r"[\\xu{}0-9a-f\x1b]{0,12}") {
            prop_assert_eq!(unescape(&escape_str(&text)), Some(text.into_bytes()));
        }
    }
}
