//! Paragraphs in lines of a page's width.

/// Longest line of a page, in characters.
const PAGE_WIDTH: usize = 100;

/// The paragraph in lines of at most [`PAGE_WIDTH`]. Code between backticks stays on one line.
pub fn wrap(text: &str) -> String {
    let mut lines = vec![String::new()];
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        let mut word = word.to_string();
        while word.matches('`').count() % 2 == 1 {
            let Some(next) = words.next() else { break };
            word = format!("{word} {next}");
        }
        let line = lines.last_mut().expect("never empty");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > PAGE_WIDTH {
            lines.push(word);
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn lines_are_at_most_as_long_as_the_page_is_wide_and_code_is_not_broken() {
        let text = wrap(&format!("{} `a b c` end", "word ".repeat(19)));
        assert_eq!(text.lines().count(), 2);
        assert!(text.ends_with("\n`a b c` end"));
    }
}
