//! Counts the nesting of brackets in a TOML text before it is parsed.
//!
//! The parser recurses at each bracket. It limits the depth of matched brackets. After an error,
//! however, it continues behind mismatched brackets without counting them: a file of one megabyte
//! with such brackets overflows any stack.

use toml_parser::lexer::TokenKind;
use toml_parser::Source;

/// Deepest nesting: more than any hand-written file has, and less than the parser's own limit.
const DEEPEST: usize = 64;

/// Line at which too many brackets are open, if there is one. A bracket is closed only by its own
/// counterpart.
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
    fn hand_written_nesting_is_accepted() {
        let text =
            "# [[[[\na = [1, [2, { b = [] }]]\n[table]\n[[list]]\nc = \"[[[\"\n".repeat(1_000);
        assert_eq!(too_deep(&text), None);
        let nested = format!("a = {}{}", "[".repeat(64), "]".repeat(64));
        assert_eq!(too_deep(&nested), None);
    }

    #[test]
    fn too_deep_nesting_is_reported_with_its_line() {
        assert_eq!(too_deep(&format!("\na = {}", "[".repeat(65))), Some(2));
        // Each line leaves two brackets open, because a wrong bracket closes none.
        assert_eq!(too_deep(&"a = [{ b = 1, c]]\n".repeat(100)), Some(33));
    }
}
