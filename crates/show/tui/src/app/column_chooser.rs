//! The column chooser: the columns, their order, and the sort column.

use crossterm::event::KeyCode;
use exactop_model::columns::{Column, COLUMNS};

/// Lines below the list for the whole help of the selected column, which the list cuts, and for
/// its source.
pub const HELP_LINES: u16 = 5;
/// Lines above the list.
const HEAD_LINES: u16 = 2;

/// Number of columns that a screen of this height lists.
pub fn rows(height: u16) -> usize {
    usize::from(height.saturating_sub(HEAD_LINES + HELP_LINES)).max(1)
}

/// State of the chooser.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnChooser {
    /// All columns, each with whether it is chosen; the chosen ones come first, in their order.
    pub list: Vec<(&'static Column, bool)>,
    /// The line of the cursor.
    pub at: usize,
    /// True if the arrows move the column instead of the cursor.
    pub moving: bool,
    /// The sort column.
    pub sort: &'static Column,
    /// The text that was searched last.
    pub search: String,
    /// The columns at the opening.
    first: Vec<&'static Column>,
}

/// Result of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The chooser stays open.
    Open,
    /// The chooser was closed.
    Close,
    /// The sort column changed.
    Sort,
    /// The user wants to search a column.
    Search,
    /// The key does nothing, for this reason.
    Refused(String),
}

impl ColumnChooser {
    /// A chooser that starts with these columns.
    pub fn new(columns: &[&'static Column], sort: &'static Column) -> ColumnChooser {
        let chosen = columns.iter().map(|&c| (c, true));
        let others = COLUMNS.iter().filter(|c| !columns.contains(c)).map(|c| (c, false));
        let (list, first) = (chosen.chain(others).collect(), columns.to_vec());
        ColumnChooser { list, at: 0, moving: false, sort, search: String::new(), first }
    }

    /// The chosen columns, in order.
    pub fn chosen(&self) -> Vec<&'static Column> {
        self.list.iter().filter(|(_, chosen)| *chosen).map(|(c, _)| *c).collect()
    }

    /// Handles a key. `page`: lines on the screen.
    pub fn key(&mut self, code: KeyCode, page: usize) -> Outcome {
        match code {
            KeyCode::Up => self.go(self.at.saturating_sub(1)),
            KeyCode::Down => self.go(self.at + 1),
            KeyCode::PageUp => self.go(self.at.saturating_sub(page)),
            KeyCode::PageDown => self.go(self.at + page),
            KeyCode::Home => self.go(0),
            KeyCode::End => self.go(self.list.len()),
            KeyCode::Right => self.moving = true,
            KeyCode::Left => self.moving = false,
            KeyCode::Enter if self.moving => self.moving = false,
            KeyCode::Char(' ' | 'd') => return self.toggle(),
            KeyCode::Char('/') => return Outcome::Search,
            KeyCode::Char('n') => return self.find_next(),
            KeyCode::Char('u') => *self = ColumnChooser::new(&self.first, self.sort),
            KeyCode::Char('s') => {
                self.sort = self.list[self.at].0;
                return Outcome::Sort;
            }
            KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q' | 'f' | 'o') => {
                return Outcome::Close
            }
            _ => return Outcome::Refused("no such key here: ? explains this screen".into()),
        }
        Outcome::Open
    }

    /// Goes to the next column with the searched text in its title, name or help.
    pub fn find_next(&mut self) -> Outcome {
        if self.search.is_empty() {
            return Outcome::Refused("no text to search for: / asks for one".into());
        }
        let wanted = self.search.to_lowercase();
        let has = |&at: &usize| {
            let column = self.list[at].0;
            let texts = [column.title, column.name, column.help];
            texts.iter().any(|text| text.to_lowercase().contains(&wanted))
        };
        let found = (self.at + 1..self.list.len()).chain(0..=self.at).find(has);
        self.moving = false;
        match found {
            Some(at) => self.at = at,
            None => {
                let text = &self.search;
                return Outcome::Refused(format!("no column has '{text}': search another text"));
            }
        }
        Outcome::Open
    }

    fn go(&mut self, to: usize) {
        let to = to.min(self.list.len() - 1);
        if self.moving {
            let entry = self.list.remove(self.at);
            self.list.insert(to, entry);
        }
        self.at = to;
    }

    fn toggle(&mut self) -> Outcome {
        let only = self.chosen().len() == 1;
        let entry = &mut self.list[self.at];
        if entry.1 && only {
            return Outcome::Refused(
                "a table has at least one column: choose another first".into(),
            );
        }
        entry.1 = !entry.1;
        Outcome::Open
    }
}
