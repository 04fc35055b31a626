//! A one-line text editor, for prompts.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The typed text and the cursor's place in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Editor {
    text: String,
    /// In bytes, always on a character boundary.
    cursor: usize,
}

impl Editor {
    /// The typed text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text left of the cursor.
    pub fn before_cursor(&self) -> &str {
        &self.text[..self.cursor]
    }

    /// Inserts text at the cursor; control characters are left out.
    pub fn insert(&mut self, text: &str) {
        for c in text.chars().filter(|c| !c.is_control()) {
            self.text.insert(self.cursor, c);
            self.cursor += c.len_utf8();
        }
    }

    /// Replaces the text; the cursor stands at its end.
    pub fn replace(&mut self, text: &str) {
        *self = Editor::default();
        self.insert(text);
    }

    /// Handles a key of the usual command-line editing keys.
    pub fn key(&mut self, key: &KeyEvent) {
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Left => self.cursor = self.left(),
            KeyCode::Right => self.cursor = self.right(),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            KeyCode::Backspace => self.cut(self.left(), self.cursor),
            KeyCode::Delete => self.cut(self.cursor, self.right()),
            KeyCode::Char(c) if ctrl => self.control(c),
            KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::ALT) => {
                self.insert(c.encode_utf8(&mut [0; 4]));
            }
            _ => {}
        }
    }

    fn control(&mut self, c: char) {
        match c {
            'a' => self.cursor = 0,
            'e' => self.cursor = self.text.len(),
            'b' => self.cursor = self.left(),
            'f' => self.cursor = self.right(),
            'h' => self.cut(self.left(), self.cursor),
            'd' => self.cut(self.cursor, self.right()),
            'u' => self.cut(0, self.cursor),
            'k' => self.cut(self.cursor, self.text.len()),
            'w' => self.cut(self.word_start(), self.cursor),
            _ => {}
        }
    }

    fn cut(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    fn left(&self) -> usize {
        self.before_cursor().char_indices().next_back().map_or(0, |(at, _)| at)
    }

    fn right(&self) -> usize {
        self.text[self.cursor..].chars().next().map_or(self.cursor, |c| self.cursor + c.len_utf8())
    }

    fn word_start(&self) -> usize {
        let trimmed = self.before_cursor().trim_end();
        trimmed.rfind(' ').map_or(0, |at| at + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &[(KeyCode, KeyModifiers)]) -> Editor {
        let mut editor = Editor::default();
        editor.insert("naïve 日本 x");
        for &(code, modifiers) in keys {
            editor.key(&KeyEvent::new(code, modifiers));
        }
        editor
    }

    #[test]
    fn characters_of_any_width_are_edited_whole() {
        let plain = KeyModifiers::NONE;
        let left = (KeyCode::Left, plain);
        let editor = typed(&[left, left, (KeyCode::Backspace, plain)]);
        assert_eq!((editor.text(), editor.before_cursor()), ("naïve 日 x", "naïve 日"));
        let ctrl = KeyModifiers::CONTROL;
        assert_eq!(typed(&[(KeyCode::Char('w'), ctrl)]).text(), "naïve 日本 ");
        assert_eq!(typed(&[(KeyCode::Char('u'), ctrl)]).text(), "");
        assert_eq!(
            typed(&[(KeyCode::Home, plain), (KeyCode::Delete, plain)]).text(),
            "aïve 日本 x"
        );
    }

    #[test]
    fn pasted_control_characters_are_left_out() {
        let mut editor = Editor::default();
        editor.insert("a\x1b[2J\nb");
        assert_eq!(editor.text(), "a[2Jb");
    }
}
