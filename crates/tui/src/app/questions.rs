//! Asking the person, and acting on the answers.

use super::prompt::{Answer, Prompt, Question, Target};
use super::{Action, App};
use crate::keys::Command;
use crate::signals;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use exactop_model::filter::Filter;
use exactop_model::{Row, RowKind};

impl App {
    pub(super) fn ask_person(&mut self, prompt: Prompt) -> Action {
        self.prompt = Some(prompt);
        Action::Draw
    }

    /// Keys of the table that ask something or are about filters and searching.
    pub(super) fn on_question(&mut self, command: Command) -> Action {
        let prompt = match command {
            Command::User => {
                let label = "user (name or number, !name: all others, empty: everyone)";
                Prompt::new(Question::User, label, None)
            }
            Command::Filter => Prompt::new(Question::Filter, "add filter, as in %CPU>5", None),
            Command::Search => Prompt::new(Question::Search, "search", None),
            Command::Kill => return self.ask_pid(Question::KillPid, "PID to signal"),
            Command::Renice => return self.ask_pid(Question::RenicePid, "PID to renice"),
            Command::SearchNext => return self.search_on(),
            Command::ShowFilters => {
                self.say(self.filters_in_words());
                return Action::Draw;
            }
            Command::ClearFilters => {
                self.filters.clear();
                self.settings.filters.clear();
                (self.user, self.settings.user) = (None, None);
                self.search = None;
                self.say("all rows: filters dropped");
                return self.rearranged();
            }
            _ => return Action::Draw,
        };
        self.ask_person(prompt)
    }

    fn ask_pid(&mut self, question: Question, label: &str) -> Action {
        let thread = matches!(question, Question::RenicePid);
        let row = self.process_page().zip(self.frame.as_ref()).map(|(p, f)| p.row(f));
        let default = match row {
            Some(row) => row,
            None => self.target(),
        }
        .map(|row| format!("{} {}", pid_of(row, thread), row.ident.comm));
        self.ask_person(Prompt::new(question, label, default))
    }

    fn filters_in_words(&self) -> String {
        let user = self.user.iter().map(|u| format!("user {}", u.text));
        let all: Vec<String> =
            self.filters.iter().map(|f| f.text().to_string()).chain(user).collect();
        if all.is_empty() {
            "no filters: o adds one".into()
        } else {
            format!("filters: {}   (= drops them)", all.join("  and  "))
        }
    }

    fn search_on(&mut self) -> Action {
        if self.search.is_none() {
            self.complain("nothing to search for yet: / asks");
            return Action::Draw;
        }
        self.search_due = true;
        self.rearranged()
    }

    pub(super) fn on_prompt_key(&mut self, key: &KeyEvent) -> Action {
        let Some(prompt) = &mut self.prompt else { return Action::Draw };
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        let gives_up =
            key.code == KeyCode::Esc || ctrl && matches!(key.code, KeyCode::Char('c' | 'g'));
        if gives_up {
            self.prompt = None;
            return Action::Draw;
        }
        let answer = match key.code {
            KeyCode::Enter => prompt.answer(),
            KeyCode::Char(c) if prompt.is_yes_no() => prompt.decide(matches!(c, 'y' | 'Y')),
            _ => {
                prompt.editor.key(key);
                return Action::Draw;
            }
        };
        self.prompt = None;
        self.on_answer(answer)
    }

    fn on_answer(&mut self, answer: Answer) -> Action {
        match answer {
            Answer::Ask(prompt) => return self.ask_person(prompt),
            Answer::Interval(seconds) => {
                self.settings.interval_s = seconds;
                return Action::Refresh;
            }
            Answer::User(text) => return self.choose_user(text),
            Answer::Filter(text) => return self.add_filter(&text),
            Answer::Search(text) => {
                self.search = Some(text).filter(|t| !t.is_empty());
                self.search_due = self.search.is_some();
                return self.rearranged();
            }
            Answer::Pid(question, pid) => return self.on_pid(question, pid),
            Answer::Signal(target, signal) if self.is_same(&target) => {
                return Action::Signal { pid: target.pid, signal }
            }
            Answer::Renice(target, nice) if self.is_same(&target) => {
                return Action::Renice { pid: target.pid, nice }
            }
            Answer::Signal(target, _) | Answer::Renice(target, _) => {
                self.complain(format!("PID {} is another process by now: nothing done", target.pid))
            }
            Answer::Limit(limit) => return Action::SetGroup(limit),
            Answer::Bad(why) => self.complain(why),
            Answer::Nothing => {}
        }
        Action::Draw
    }

    fn choose_user(&mut self, text: String) -> Action {
        let name = text.strip_prefix('!').unwrap_or(&text).trim().to_string();
        if name.is_empty() {
            (self.user, self.settings.user) = (None, None);
            return self.rearranged();
        }
        Action::LookUpUser(text)
    }

    fn add_filter(&mut self, text: &str) -> Action {
        match Filter::parse(text) {
            Ok(filter) => {
                self.settings.filters.push(filter.text().into());
                self.filters.push(filter);
                self.rearranged()
            }
            Err(why) => {
                self.complain(why.to_string());
                Action::Draw
            }
        }
    }

    fn on_pid(&mut self, question: Question, pid: u32) -> Action {
        let kills = matches!(question, Question::KillPid);
        let row = self.row_of_pid(pid);
        let target = Target {
            pid,
            start_ns: row.map(|r| r.key.start_ns),
            name: row.map_or(String::new(), |r| r.ident.comm.to_string()),
        };
        let nice = row.map(|r| r.ident.nice);
        self.ask_person(match kills {
            true => Prompt::kill_signal(target),
            false => Prompt::renice_value(target, nice),
        })
    }

    fn row_of_pid(&self, pid: u32) -> Option<&Row> {
        let rows = &self.frame.as_ref()?.rows;
        rows.iter().find(|r| r.key.tid == pid)
    }

    /// Whether the pid still is the process that was meant, as far as the last frame knows.
    fn is_same(&self, target: &Target) -> bool {
        match (target.start_ns, self.row_of_pid(target.pid)) {
            (Some(start_ns), Some(row)) => row.key.start_ns == start_ns,
            _ => true,
        }
    }

    /// Says how sending a signal went.
    pub fn signalled(&mut self, pid: u32, signal: i32, result: Result<(), String>) {
        match result {
            Ok(()) => self.say(format!("{} sent to PID {pid}", signals::name(signal))),
            Err(why) => self.complain(why),
        }
    }
}

/// Signals go to processes, nice values belong to threads.
fn pid_of(row: &Row, thread: bool) -> u32 {
    match row.kind {
        RowKind::Task if thread => row.key.tid,
        _ => row.key.tgid,
    }
}
