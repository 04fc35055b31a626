//! The help over a page: the explanation of the screen, the key list, or the glossary. The page
//! below stays open, and so does a question on it.

use super::process::Shows;
use super::question::Question;
use super::target::ProcessAction;
use super::{Action, App, Page};
use crate::explanations::Topic;
use crate::keys::{self, KeyCommand};
use crossterm::event::{KeyCode, KeyEvent};

/// Text of the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelpText {
    /// The explanation of the screen below.
    Screen,
    /// Keys, columns, marks and events.
    Keys,
    /// The glossary.
    Glossary,
    /// How exact the window is.
    Quality,
}

/// The help on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Help {
    /// Its text.
    pub text: HelpText,
    /// The first visible line; drawing stops at the end.
    pub top: usize,
}

impl App {
    /// The open help.
    pub fn help(&self) -> Option<Help> {
        self.help
    }

    pub(super) fn open_help(&mut self, text: HelpText) -> Action {
        self.help = Some(Help { text, top: 0 });
        Action::Draw
    }

    /// A key that opens the help over a question or the column chooser, which take most keys for
    /// themselves. `None`: it opens none.
    pub(super) fn help_key(&mut self, key: &KeyEvent) -> Option<Action> {
        let types = self.prompt.is_some();
        let text = match key.code {
            KeyCode::F(1) => HelpText::Screen,
            KeyCode::Char('?') if !types => HelpText::Screen,
            KeyCode::Char('h') if !types => HelpText::Keys,
            _ => return None,
        };
        Some(self.open_help(text))
    }

    /// Keys while the help is open.
    pub(super) fn on_help(&mut self, key: &KeyEvent) -> Action {
        let lines = usize::from(self.size.1);
        let last_top = self.last_top.get();
        let Some(help) = &mut self.help else { return Action::Draw };
        help.top = help.top.min(last_top);
        let Some(command) = keys::find(key, false) else { return self.no_such_help_key() };
        let top = super::scroll::scrolled(help.top, command, lines);
        match (command, help.text, top) {
            (_, _, Some(top)) => help.top = top,
            (KeyCommand::Back | KeyCommand::Quit, ..) => self.help = None,
            // As in a pager.
            (KeyCommand::Tag, ..) => {
                help.top = super::scroll::scrolled(help.top, KeyCommand::PageDown, lines)
                    .unwrap_or(help.top);
            }
            (KeyCommand::Help, HelpText::Keys, _) => self.help = None,
            (KeyCommand::Help, ..) => return self.open_help(HelpText::Keys),
            (KeyCommand::Explain, HelpText::Screen, _) => {
                return self.open_help(HelpText::Glossary)
            }
            (KeyCommand::Explain, ..) => return self.open_help(HelpText::Screen),
            (KeyCommand::Theme | KeyCommand::Redraw | KeyCommand::Suspend, ..) => {
                return self.on_any_page(command).unwrap_or(Action::Draw)
            }
            _ => return self.no_such_help_key(),
        }
        Action::Draw
    }

    fn no_such_help_key(&mut self) -> Action {
        self.complain("no such key in the help: Esc closes it");
        Action::Draw
    }

    /// The screen that `?` explains.
    pub fn topic(&self) -> Topic {
        match &self.prompt {
            Some(prompt) => question(&prompt.question),
            None => self.topic_of_page(),
        }
    }

    fn topic_of_page(&self) -> Topic {
        match &self.page {
            Page::Table => self.topic_of_table(),
            Page::Process(page) => match page.shows {
                Shows::Overview => Topic::Process,
                Shows::Calls => Topic::Calls,
                Shows::Environment => Topic::Environment,
                Shows::Files => Topic::Files,
            },
            Page::ColumnChooser(_) => Topic::Columns,
            Page::Groups(_) => Topic::Groups,
            Page::Sums(_) => Topic::Totals,
            Page::Findings(_) => Topic::Findings,
            Page::Graph(_) => Topic::Graph,
        }
    }

    /// The form of the table that needs an explanation most.
    fn topic_of_table(&self) -> Topic {
        let is = |shown: bool, topic| shown.then_some(topic);
        is(self.table.set.is_some(), Topic::Incident)
            .or(is(self.table.marked.is_some(), Topic::Changes))
            .or(is(self.table.members_of.is_some(), Topic::Members))
            .or(self.past.as_ref().map(|past| match past.kept {
                true => Topic::History,
                false => Topic::Recording,
            }))
            .or(is(self.shows_microstates(), Topic::Microstates))
            .or(is(self.settings.tree, Topic::Tree))
            .or(is(self.shows_threads(), Topic::Threads))
            .unwrap_or(Topic::Table)
    }
}

fn question(question: &Question) -> Topic {
    match question {
        Question::Interval => Topic::Interval,
        Question::User => Topic::User,
        Question::Filter => Topic::Filter,
        Question::Search => Topic::Search,
        Question::Column => Topic::Columns,
        Question::Command => Topic::Palette,
        Question::Time => Topic::Time,
        Question::Pid(..) => Topic::Pid,
        Question::KillSignal(_) | Question::KillTagged(_) => Topic::Signal,
        Question::ReniceValue(_) | Question::ReniceTagged(_) => Topic::Nice,
        Question::Placement(ProcessAction::Affinity, _) => Topic::Cpus,
        Question::Placement(..) => Topic::Move,
        Question::GroupWeight(..) => Topic::Weight,
        Question::GroupMax(..) => Topic::Quota,
        Question::KillConfirm(..)
        | Question::KillTaggedConfirm(..)
        | Question::ReniceConfirm(..)
        | Question::ReniceTaggedConfirm(..)
        | Question::PlacementConfirm(..)
        | Question::GroupConfirm(..) => Topic::Confirmation,
    }
}
