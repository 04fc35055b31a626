//! Finds a searched text in a cell. A text without capitals matches any case.

use std::ops::Range;

/// The first match that begins at byte `from` or later, in bytes.
pub(crate) fn find(cell: &str, text: &str, from: usize) -> Option<Range<usize>> {
    let exact = text.chars().any(char::is_uppercase);
    let wanted: Vec<char> = match exact {
        true => text.chars().collect(),
        false => text.chars().flat_map(char::to_lowercase).collect(),
    };
    let starts = cell.char_indices().map(|(at, _)| at).filter(|&at| at >= from);
    starts.into_iter().find_map(|at| Some(at..at + length(&cell[at..], &wanted, exact)?))
}

/// Length of the match at the beginning of a text, in bytes.
fn length(cell: &str, wanted: &[char], exact: bool) -> Option<usize> {
    let mut left = wanted;
    for (at, c) in cell.char_indices() {
        if left.is_empty() {
            return Some(at);
        }
        let mut take = |c: char| -> Option<()> {
            left = left.strip_prefix(&[c])?;
            Some(())
        };
        match exact {
            true => take(c)?,
            false => c.to_lowercase().try_for_each(take)?,
        }
    }
    left.is_empty().then_some(cell.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_found_in_any_text() {
        for (cell, text, from, found) in [
            ("postgres", "gres", 0, Some(4..8)),
            ("POSTGRES x", "gres", 0, Some(4..8)),
            ("postgres", "Gres", 0, None),
            ("aXa", "a", 1, Some(2..3)),
            ("日本語", "本", 0, Some(3..6)),
            ("İx", "x", 0, Some(2..3)),
            ("ab", "abc", 0, None),
            ("", "a", 0, None),
        ] {
            assert_eq!(find(cell, text, from), found, "{text} in {cell}");
        }
    }
}
