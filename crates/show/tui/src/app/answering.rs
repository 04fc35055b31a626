//! Asks the user, and acts on the answers.

use super::action::{Action, HostAction, WindowAction};
use super::column_chooser::Outcome;
use super::placement::Placement;
use super::question::{Answer, Prompt, Question};
use super::sets::TableSet;
use super::target::{ProcessAction, Target};
use super::{App, Page};
use crate::keys::KeyCommand;
use crate::signals;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use exactop_model::columns::filter::{Filter, FilterError};
use exactop_model::text::cpu_list::CpuList;
use std::collections::BTreeSet;

/// The first process. An action on it needs its number typed.
pub(super) const INIT: u32 = 1;

impl App {
    /// Requests the confirmed place for the targets that are still the same processes.
    pub(super) fn on_placement(&mut self, targets: Vec<Target>, placement: Placement) -> Action {
        match self.still_there(targets) {
            targets if targets.is_empty() => Action::Draw,
            targets => Action::Host(HostAction::Place(targets, placement)),
        }
    }

    pub(super) fn ask_person(&mut self, prompt: Prompt) -> Action {
        self.prompt = Some(prompt);
        Action::Draw
    }

    /// Keys of the table that ask for something, or that filter and search.
    pub(super) fn on_question(&mut self, command: KeyCommand) -> Action {
        let prompt = match command {
            KeyCommand::User => {
                let label = "user (!name: all others, empty: all users)";
                Prompt::new(Question::User, label, None)
            }
            KeyCommand::Filter => {
                Prompt::new(Question::Filter, "add filter, as in %CPU>5 (Tab completes)", None)
            }
            KeyCommand::Search => Prompt::new(Question::Search, "search", None),
            KeyCommand::Kill => return self.ask_of(ProcessAction::Kill),
            KeyCommand::Renice => return self.ask_of(ProcessAction::Renice),
            KeyCommand::Affinity => return self.ask_of(ProcessAction::Affinity),
            KeyCommand::MoveToGroup => return self.ask_of(ProcessAction::Move),
            KeyCommand::SearchNext => return self.search_on(),
            KeyCommand::ShowFilters => {
                self.say(self.filters_in_words());
                return Action::Draw;
            }
            KeyCommand::ClearFilters => {
                // That of a set belongs to its columns.
                self.table.filters =
                    self.table.set.and_then(TableSet::filter).into_iter().collect();
                self.table.members_of = None;
                self.settings.filters.clear();
                (self.table.user, self.settings.user) = (None, None);
                self.table.search = None;
                self.say(match self.table.filters.is_empty() {
                    true => "filters dropped: the table shows all rows",
                    false => "filters dropped, but that of these columns",
                });
                return self.rearranged();
            }
            _ => {
                self.complain("this key sets a limit of a group: g lists the groups");
                return Action::Draw;
            }
        };
        self.ask_person(prompt)
    }

    /// Asks for the action's value if rows are tagged, a row is selected or a process's page is
    /// open; else asks for the process.
    fn ask_of(&mut self, deed: ProcessAction) -> Action {
        let is_chosen = self.selected().is_some() || self.process_page().is_some();
        match self.ask_of_tagged(deed) {
            Some(Ok(prompt)) => return self.ask_person(prompt),
            Some(Err(why)) => self.complain(why),
            None => match self.offered(deed) {
                Some(target) if is_chosen => return self.ask_action(deed, target),
                offered => {
                    let offered = offered.filter(|target| target.refuses(deed).is_none());
                    return self.ask_person(Prompt::for_target(deed, offered));
                }
            },
        }
        Action::Draw
    }

    /// Asks for the signal, the nice value or the place, unless it would have no effect.
    fn ask_action(&mut self, deed: ProcessAction, target: Target) -> Action {
        match target.refuses(deed) {
            Some(why) => {
                self.complain(why);
                Action::Draw
            }
            None => self.ask_person(Prompt::for_action(deed, target)),
        }
    }

    /// The process that the question offers: that of the open page, or of the selected row. A row
    /// that has left the frame is not offered, nor is process 1.
    fn offered(&self, deed: ProcessAction) -> Option<Target> {
        let arranged = self.arranged.as_ref()?;
        let target = match self.process_page() {
            Some(page) => Target::from_row(page.row(arranged.frame())?, deed),
            None => arranged.target(self.marked()?, deed)?,
        };
        (target.key.tgid != INIT).then_some(target)
    }

    fn filters_in_words(&self) -> String {
        match self.table.filters_in_words() {
            all if all.is_empty() => "no filters: \\ adds one".into(),
            all => format!("filters: {all}   (= drops them)"),
        }
    }

    fn search_on(&mut self) -> Action {
        if self.table.search.is_none() {
            self.complain("no text to search for: / asks for one");
            return Action::Draw;
        }
        self.table.search_due = true;
        self.rearranged()
    }

    pub(super) fn on_prompt_key(&mut self, key: &KeyEvent) -> Action {
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        let gives_up =
            key.code == KeyCode::Esc || ctrl && matches!(key.code, KeyCode::Char('c' | 'g'));
        if gives_up {
            self.prompt = None;
            return Action::Draw;
        }
        if let Some(action) = self.on_offer_key(key) {
            return action;
        }
        let Some(prompt) = &mut self.prompt else { return Action::Draw };
        let answer = match key.code {
            KeyCode::Enter => {
                self.answers.note(&prompt.question, prompt.editor.text().trim());
                prompt.answer()
            }
            KeyCode::Char(c) if prompt.is_yes_no() => prompt.decide(matches!(c, 'y' | 'Y')),
            _ => {
                prompt.editor.key(key);
                return Action::Draw;
            }
        };
        let can_be_wrong = matches!(
            answer,
            Answer::Bad(_) | Answer::Filter(_) | Answer::Ask(_) | Answer::Typed(..)
        );
        let asked = self.prompt.take();
        let action = self.on_answer(answer);
        // A wrong answer stays, to be corrected.
        if can_be_wrong && self.message.as_ref().is_some_and(|message| message.is_error) {
            self.prompt = asked;
        }
        action
    }

    fn on_answer(&mut self, answer: Answer) -> Action {
        match answer {
            Answer::Ask(prompt) => {
                if let Some(why) = self.lacks_cpu(&prompt.question) {
                    self.complain(why);
                    return Action::Draw;
                }
                return self.ask_person(prompt);
            }
            Answer::Interval(seconds) => {
                self.settings.interval_s = seconds;
                if self.past.is_none() || self.is_looking_back() {
                    return Action::Refresh;
                }
            }
            Answer::User(text) => return self.choose_user(text),
            Answer::Filter(text) => return self.add_filter(&text),
            Answer::Search(text) => {
                self.table.search = Some(text).filter(|t| !t.is_empty());
                self.table.search_due = self.table.search.is_some();
                return self.rearranged();
            }
            Answer::Column(text) => self.find_column(text),
            Answer::Time(text) => return Action::Window(WindowAction::GoTo(text)),
            Answer::Offered(deed, target) => return self.ask_action(deed, target),
            Answer::Typed(deed, pid) => return self.on_number(deed, pid),
            Answer::Signal(target, _) | Answer::Renice(target, _) if self.is_replaced(&target) => {
                self.complain(target.gone())
            }
            Answer::Signal(target, signal) => {
                return Action::Host(HostAction::Signal { target, signal })
            }
            Answer::Renice(target, nice) => {
                return Action::Host(HostAction::Renice { target, nice })
            }
            Answer::SignalAll(targets, signal) => {
                let targets = self.still_there(targets);
                if !targets.is_empty() {
                    return Action::Host(HostAction::SignalAll(targets, signal));
                }
            }
            Answer::ReniceAll(targets, nice) => {
                let targets = self.still_there(targets);
                if !targets.is_empty() {
                    return Action::Host(HostAction::ReniceAll(targets, nice));
                }
            }
            Answer::Place(targets, placement) => return self.on_placement(targets, placement),
            Answer::Limit(limit) => return Action::Host(HostAction::SetGroup(limit)),
            Answer::Bad(why) => self.complain(why),
            Answer::Nothing => {}
        }
        Action::Draw
    }

    fn find_column(&mut self, text: String) {
        let Page::ColumnChooser(chooser) = &mut self.page else { return };
        chooser.search = text;
        if let Outcome::Refused(why) = chooser.find_next() {
            self.complain(why);
        }
    }

    /// Why these CPUs cannot be set; `None`: the machine has each.
    fn lacks_cpu(&self, question: &Question) -> Option<String> {
        let Question::PlacementConfirm(_, Placement::Cpus(cpus)) = question else { return None };
        let there: BTreeSet<usize> =
            self.frame()?.cpus.iter().map(|cpu| cpu.account.time.cpu as usize).collect();
        let lacking = cpus.numbers().iter().find(|cpu| !there.contains(cpu))?;
        let all: Vec<String> = there.iter().map(usize::to_string).collect();
        let all: CpuList = all.join(",").parse().ok()?;
        Some(format!("no CPU {lacking}: this machine has {all}"))
    }

    fn choose_user(&mut self, text: String) -> Action {
        let name = text.strip_prefix('!').unwrap_or(&text).trim().to_string();
        if name.is_empty() {
            (self.table.user, self.settings.user) = (None, None);
            return self.rearranged();
        }
        Action::Host(HostAction::LookUpUser(text))
    }

    fn add_filter(&mut self, text: &str) -> Action {
        match Filter::parse(text) {
            Ok(filter) => {
                self.settings.filters.push(filter.text().into());
                self.table.filters.push(filter);
                self.rearranged()
            }
            Err(FilterError::UnknownColumn(unknown)) if unknown.near().is_none() => {
                self.complain(format!("no column '{}': Tab completes one", unknown.name()));
                Action::Draw
            }
            Err(why) => {
                self.complain(why.to_string());
                Action::Draw
            }
        }
    }

    /// Finds the process of a typed number in the frame, or else on the machine.
    fn on_number(&mut self, deed: ProcessAction, pid: u32) -> Action {
        let target = self.arranged.as_ref().and_then(|a| a.target_by_number(pid, deed));
        match target {
            Some(target) => self.ask_action(deed, target),
            None => Action::Host(HostAction::Identify { deed, pid }),
        }
    }

    /// Continues with the process that has the typed number.
    pub fn identified(&mut self, deed: ProcessAction, found: Result<Target, String>) {
        match found {
            Ok(target) => {
                self.ask_action(deed, target);
            }
            Err(why) => self.complain(why),
        }
    }

    pub(super) fn is_replaced(&self, target: &Target) -> bool {
        self.arranged.as_ref().is_some_and(|a| a.is_replaced(target))
    }

    /// Reports the result of sending a signal.
    pub fn signalled(&mut self, target: &Target, signal: i32, result: Result<(), String>) {
        match result {
            Ok(()) => self.say(format!("{} sent to {}", signals::name(signal), target.shown())),
            Err(why) => self.complain(why),
        }
    }

    /// Reports the result of setting a nice value.
    pub fn reniced(&mut self, target: &Target, nice: i32, result: Result<(), String>) {
        let Target { pid, name, .. } = target;
        match result {
            Ok(()) => self.say(format!("nice value of PID {pid} is {nice} ({name})")),
            Err(why) => self.complain(why),
        }
    }
}
