//! Text that came from the system is hostile: made harmless here before anyone shows it.

use std::fmt::Write;

/// Turns bytes of unknown origin into text that cannot move a cursor, ring a bell, reorder a line
/// or break a row: control characters and invalid UTF-8 become `\xNN`, invisible and
/// direction-changing characters `\u{NNNN}`.
pub fn escape(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            push_harmless(&mut out, c);
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

fn push_harmless(out: &mut String, c: char) {
    if (c as u32) < 0x100 && c.is_control() {
        let _ = write!(out, "\\x{:02x}", c as u32);
    } else if changes_layout(c) {
        let _ = write!(out, "\\u{{{:x}}}", c as u32);
    } else {
        out.push(c);
    }
}

/// Zero-width, line-separating and bidirectional control characters.
fn changes_layout(c: char) -> bool {
    matches!(c as u32,
        0xad | 0x61c | 0x180e | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff
        | 0xfff9..=0xfffb | 0xe0000..=0xe007f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays() {
        assert_eq!(escape("naïve 日本".as_bytes()), "naïve 日本");
    }

    #[test]
    fn controls_and_invalid_utf8_are_escaped() {
        assert_eq!(escape(b"a\x1b]0;x\x07\n\xff"), "a\\x1b]0;x\\x07\\x0a\\xff");
        assert_eq!(escape("\u{9b}31m".as_bytes()), "\\x9b31m");
    }

    #[test]
    fn direction_changes_are_escaped() {
        assert_eq!(escape("\u{202e}txt".as_bytes()), "\\u{202e}txt");
    }
}
