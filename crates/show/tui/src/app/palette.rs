//! What a question offers below it: the actions of the palette, and completions of a filter; and
//! the earlier answers.

use super::question::Question;
use super::{Action, App};
use crate::keys::{HelpSection, KeyCommand, BINDINGS};
use crossterm::event::{KeyCode, KeyEvent};
use exactop_model::columns::filter::compared;
use exactop_model::columns::{self, Unit, COLUMNS};
use exactop_model::frame::value::{Datum, Value};
use std::collections::BTreeSet;

/// Most answers of one kind that are remembered.
const REMEMBERED: usize = 100;

/// A line below a question.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Suggestion {
    /// The action's name, or the completed answer.
    pub(crate) text: String,
    /// The keys of the action.
    pub(crate) keys: String,
    pub(crate) help: String,
    command: Option<KeyCommand>,
}

/// Answers to questions on filters and searches, the newest last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers {
    filters: Vec<String>,
    searches: Vec<String>,
}

impl Answers {
    fn of(&mut self, question: &Question) -> Option<&mut Vec<String>> {
        match question {
            Question::Filter => Some(&mut self.filters),
            Question::Search => Some(&mut self.searches),
            _ => None,
        }
    }

    /// Remembers an answer.
    pub(super) fn note(&mut self, question: &Question, text: &str) {
        let Some(list) = self.of(question).filter(|_| !text.is_empty()) else { return };
        list.retain(|other| other != text);
        list.push(text.into());
        if list.len() > REMEMBERED {
            list.remove(0);
        }
    }
}

impl App {
    /// The lines below the open question, the best first.
    pub(crate) fn suggestions(&self) -> Vec<Suggestion> {
        let Some(prompt) = &self.prompt else { return Vec::new() };
        match prompt.question {
            Question::Command => actions(prompt.editor.text(), self.past.is_some()),
            Question::Filter => {
                let typed = prompt.completed.as_ref().map(|(typed, _)| typed.as_str());
                self.completions(typed.unwrap_or(prompt.editor.text()))
            }
            _ => Vec::new(),
        }
    }

    /// Keys that choose among the lines, complete the answer or recall an earlier one; `None`: the
    /// key edits or ends the answer.
    pub(super) fn on_offer_key(&mut self, key: &KeyEvent) -> Option<Action> {
        let (count, chosen) = (self.suggestions().len(), self.chosen_suggestion());
        let prompt = self.prompt.as_mut()?;
        let is_palette = prompt.question == Question::Command;
        match key.code {
            KeyCode::Enter if is_palette => {
                let Some(command) = chosen.and_then(|line| line.command) else {
                    // The next letters edit the answer: they must not act on the page.
                    self.complain("no action has this name");
                    return Some(Action::Draw);
                };
                self.prompt = None;
                return Some(self.on_command(command));
            }
            KeyCode::Up if is_palette => prompt.at = prompt.at.saturating_sub(1),
            KeyCode::Down if is_palette => prompt.at = (prompt.at + 1).min(count.max(1) - 1),
            KeyCode::Tab if is_palette => {
                if let Some(line) = chosen {
                    prompt.editor.replace(&line.text);
                    prompt.at = 0;
                }
            }
            KeyCode::BackTab if is_palette => {}
            KeyCode::Tab | KeyCode::BackTab => {
                let forth = key.code == KeyCode::Tab;
                prompt.at = 0;
                self.complete(forth);
            }
            KeyCode::Up | KeyCode::Down if !prompt.is_yes_no() => {
                let earlier = self.answers.of(&prompt.question)?;
                let back = match key.code {
                    KeyCode::Up => (prompt.at + 1).min(earlier.len()),
                    _ => prompt.at.saturating_sub(1),
                };
                (prompt.at, prompt.completed) = (back, None);
                let text = earlier.len().checked_sub(back).and_then(|at| earlier.get(at));
                prompt.editor.replace(text.map_or("", String::as_str));
            }
            _ => {
                if is_palette {
                    prompt.at = 0;
                }
                prompt.completed = None;
                return None;
            }
        }
        Some(Action::Draw)
    }

    /// The selected action.
    fn chosen_suggestion(&self) -> Option<Suggestion> {
        let at = self.prompt.as_ref().map_or(0, |prompt| prompt.at);
        self.suggestions().into_iter().nth(at)
    }

    /// Puts the next completion of the typed text in its place, or the one before.
    fn complete(&mut self, forth: bool) {
        let lines = self.suggestions();
        let (Some(prompt), Some(last)) = (&mut self.prompt, lines.len().checked_sub(1)) else {
            return;
        };
        let (typed, now) = match prompt.completed.take() {
            // The values of rows change from window to window.
            Some((typed, now)) => (typed, lines.iter().position(|line| line.text == now)),
            None => (prompt.editor.text().to_string(), None),
        };
        let at = match (now, forth) {
            (Some(at), true) if at < last => at + 1,
            (Some(at), false) if at > 0 => at - 1,
            (_, true) => 0,
            (_, false) => last,
        };
        let text = lines[at].text.clone();
        prompt.editor.replace(&text);
        prompt.completed = Some((typed, text));
    }

    /// Columns, or after the operator the values that the rows have.
    fn completions(&self, text: &str) -> Vec<Suggestion> {
        let line = |text: String, help: &str| Suggestion {
            text,
            keys: String::new(),
            help: help.into(),
            command: None,
        };
        let start = text.len() - text.trim_start_matches(['!', ' ']).len();
        let body = &text[start..];
        let Some(at) = body.find(['<', '>', '=', '!']) else {
            let begins = |word: &str| {
                word.get(..body.len()).is_some_and(|head| head.eq_ignore_ascii_case(body))
            };
            let fitting = COLUMNS.iter().filter(|c| begins(c.name) || begins(c.title));
            return fitting
                .map(|c| line(format!("{}{}", &text[..start], c.name), c.help))
                .collect();
        };
        let Ok(column) = columns::find(body[..at].trim()) else { return Vec::new() };
        let value = body[at..].trim_start_matches(['<', '>', '=', '!', ' ']);
        let head = &text[..text.len() - value.len()];
        if column.unit != Unit::Text {
            let help = format!("a number{}", columns::filter::units(column.unit));
            return vec![line(text.into(), &help)];
        }
        let context = self.context();
        let values =
            self.entries().filter_map(|entry| match compared(column, entry.row, &context) {
                Value::Known(Datum::Text(known)) => Some(known),
                _ => None,
            });
        let wanted = value.to_lowercase();
        let fitting: BTreeSet<String> =
            values.filter(|known| known.to_lowercase().starts_with(&wanted)).collect();
        fitting.iter().map(|known| line(format!("{head}{known}"), "")).collect()
    }
}

/// The actions that match the typed text, the best first.
fn actions(typed: &str, recorded: bool) -> Vec<Suggestion> {
    let bindings = BINDINGS.iter().filter(|b| recorded || b.group != HelpSection::Time);
    let mut found: Vec<(i32, Suggestion)> = bindings
        .filter_map(|binding| {
            let name = binding.name();
            let in_help = || binding.help.to_lowercase().contains(&typed.to_lowercase());
            let score = score(typed, &name).or_else(|| in_help().then_some(0))?;
            let (keys, help) = (binding.names(), binding.help.into());
            Some((score, Suggestion { text: name, keys, help, command: Some(binding.command) }))
        })
        .collect();
    // Without a word all are equal, and stand as in the help.
    if !typed.is_empty() {
        found.sort_by_key(|(score, _)| -score);
    }
    found.into_iter().map(|(_, line)| line).collect()
}

/// How well the typed letters match a name, at least 1; `None` if they are not in it in this order.
/// Letters that follow each other or begin a word count most.
fn score(typed: &str, name: &str) -> Option<i32> {
    let letters = |text: &str| -> Vec<char> { text.to_lowercase().chars().collect() };
    let wanted: Vec<char> = letters(typed).into_iter().filter(|c| !c.is_whitespace()).collect();
    let name = letters(name);
    let begins = |at: usize| at == 0 || !name[at - 1].is_alphanumeric();
    let from = |start: usize| {
        let (mut at, mut sum) = (start, 0);
        for (n, letter) in wanted.iter().enumerate() {
            let found = at + name.get(at..)?.iter().position(|other| other == letter)?;
            sum += match (begins(found), n > 0 && found == at) {
                (true, _) => 4,
                (false, true) => 3,
                (false, false) => 0,
            };
            at = found + 1;
        }
        // Of two equal matches, the shorter name.
        Some(1 + 32 * sum + (32 - name.len().min(31) as i32))
    };
    (0..name.len().max(1)).filter_map(from).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(typed: &str) -> String {
        actions(typed, false).first().map_or(String::new(), |line| line.text.clone())
    }

    #[test]
    fn letters_of_a_name_find_it() {
        for (typed, name) in [
            ("tree", "tree"),
            ("hk", "hide kernel"),
            ("who wait", "who waits"),
            ("sort m", "sort memory"),
            ("STRV", "who starves"),
            ("envi", "environment"),
            ("nice", "renice"),
        ] {
            assert_eq!(first(typed), name, "{typed}");
        }
        assert!(actions("qqqq", false).is_empty());
        let all = BINDINGS.iter().filter(|b| b.group != HelpSection::Time).count();
        assert_eq!(actions("", false).len(), all);
        assert_eq!(actions("", true).len(), BINDINGS.len());
    }

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<String> = BINDINGS.iter().map(|b| b.name()).collect();
        assert_eq!(names.len(), BINDINGS.len());
    }
}
