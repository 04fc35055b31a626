//! How deep the brackets of a TOML text are nested, counted before it is read.
//!
//! The parser goes one call deeper for each bracket. It has a limit for those that are closed, but
//! after an error it goes on behind brackets that were closed by the wrong one without counting
//! them, and a file of a megabyte of these overflows any stack.

use toml_parser::lexer::TokenKind;
use toml_parser::Source;

/// Deeper than anything that people write, and less than the parser's own limit.
const DEEPEST: usize = 64;

/// The line at which a text has more brackets open than may be, if it has. Closed is a bracket only
/// by its own counterpart.
pub fn too_deep(text: &str) -> Option<usize> {
    let mut open = Vec::new();
    for token in Source::new(text).lex() {
        let kind = token.kind();
        match kind {
            TokenKind::LeftSquareBracket => open.push(TokenKind::RightSquareBracket),
            TokenKind::LeftCurlyBracket => open.push(TokenKind::RightCurlyBracket),
            _ if open.last() == Some(&kind) => drop(open.pop()),
            _ => {}
        }
        if open.len() > DEEPEST {
            return Some(1 + text[..token.span().start()].matches('\n').count());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_not_too_deep() {
        let text =
            "# [[[[\na = [1, [2, { b = [] }]]\n[table]\n[[list]]\nc = \"[[[\"\n".repeat(1_000);
        assert_eq!(too_deep(&text), None);
        let nested = format!("a = {}{}", "[".repeat(64), "]".repeat(64));
        assert_eq!(too_deep(&nested), None);
    }

    #[test]
    fn what_is_nested_deeper_or_never_closed_is_told_by_its_line() {
        assert_eq!(too_deep(&format!("\na = {}", "[".repeat(65))), Some(2));
        // Each line leaves two open: the wrong one closes nothing.
        assert_eq!(too_deep(&"a = [{ b = 1, c]]\n".repeat(100)), Some(33));
    }
}
