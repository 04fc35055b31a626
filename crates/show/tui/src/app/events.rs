//! Handles keys, clicks and pastes.

use super::action::{Action, HostAction, WindowAction};
use super::arrange::RowId;
use super::help::HelpText;
use super::process::Shows;
use super::question::{Prompt, Question};
use super::scroll::scroll_lines;
use super::table::Table;
use super::{App, ColumnChooser, Page, ProcessPage};
use crate::app::column_chooser::Outcome;
use crate::keys::{self, KeyCommand};
use crate::layout;
use crate::settings::AutoSwitch;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use exactop_model::columns::sort::SortBy;
use exactop_model::columns::{Column, ColumnId};
use exactop_model::TaskKey;

impl App {
    /// Handles an event of the terminal.
    pub fn on_event(&mut self, event: &Event) -> Action {
        let action = self.handle(event);
        // It is that of the text as it was drawn before this event.
        self.last_top.set(usize::MAX);
        action
    }

    fn handle(&mut self, event: &Event) -> Action {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.on_key(key),
            Event::Mouse(mouse) => self.on_mouse(mouse),
            Event::Paste(text) => {
                let prompt = self.prompt.as_mut().filter(|prompt| !prompt.is_yes_no());
                if let (Some(prompt), None) = (prompt, self.help) {
                    prompt.editor.insert(text);
                    prompt.completed = None;
                }
                Action::Draw
            }
            Event::Resize(width, height) => {
                self.resize(*width, *height);
                self.table.stale = true;
                Action::Rearrange
            }
            _ => Action::Draw,
        }
    }

    fn on_key(&mut self, key: &KeyEvent) -> Action {
        self.message = None;
        if self.help.is_some() {
            return self.on_help(key);
        }
        let takes_keys = self.prompt.is_some() || matches!(self.page, Page::ColumnChooser(_));
        if let Some(action) = takes_keys.then(|| self.help_key(key)).flatten() {
            return action;
        }
        if self.prompt.is_some() {
            return self.on_prompt_key(key);
        }
        if let Page::ColumnChooser(_) = self.page {
            return self.on_chooser_key(key);
        }
        let Some(command) = keys::find(key, self.past.is_some()) else {
            self.complain(match keys::find(key, true) {
                Some(_) => "this key works in earlier windows: [ shows them",
                None => "no such key here: ? explains this screen, h lists all keys",
            });
            return Action::Draw;
        };
        self.on_command(command)
    }

    /// Does what a key or a line of the palette says.
    pub(super) fn on_command(&mut self, command: KeyCommand) -> Action {
        let anywhere = self.on_time(command).or_else(|| self.on_any_page(command));
        if let Some(action) = anywhere.or_else(|| self.on_set(command)) {
            return action;
        }
        match &mut self.page {
            Page::Table => {
                self.came_from = None;
                self.on_table(command)
            }
            Page::Process(_) => self.on_process(command),
            Page::Groups(_) => match self.on_groups(command) {
                Some(action) => action,
                None => self.close_page_or_complain(command),
            },
            Page::Sums(_) => match self.on_sums(command) {
                Some(action) => action,
                None => self.close_page_or_complain(command),
            },
            Page::Findings(_) => match self.on_findings(command) {
                Some(action) => action,
                None => self.close_page_or_complain(command),
            },
            Page::Graph(_) => match self.on_graph(command) {
                Some(action) => action,
                None => self.close_page_or_complain(command),
            },
            Page::ColumnChooser(_) => Action::Draw,
        }
    }

    pub(super) fn close_page_on(&mut self, command: KeyCommand) -> Action {
        let closes = matches!(command, KeyCommand::Back | KeyCommand::Quit)
            || matches!((&self.page, command), (Page::Groups(_), KeyCommand::Groups))
            || matches!((&self.page, command), (Page::Findings(_), KeyCommand::Findings))
            || matches!((&self.page, command), (Page::Graph(_), KeyCommand::Graph))
            || matches!((&self.page, command), (Page::Process(_), KeyCommand::Open));
        match command {
            _ if closes => {
                self.page = self.came_from.take().map_or(Page::Table, Page::Findings);
                self.table.stale = true;
                Action::Rearrange
            }
            _ => Action::Draw,
        }
    }

    /// A key that the page does not know closes it, or does not work there.
    fn close_page_or_complain(&mut self, command: KeyCommand) -> Action {
        let action = self.close_page_on(command);
        if action == Action::Draw {
            self.complain("this key does not work on this page: Esc leaves it");
        }
        action
    }

    /// Keys that work on every page.
    pub(super) fn on_any_page(&mut self, command: KeyCommand) -> Option<Action> {
        Some(match command {
            KeyCommand::Tag => self.on_tag().unwrap_or(Action::Refresh),
            KeyCommand::Refresh => Action::Refresh,
            KeyCommand::Palette => self.ask_person(Prompt::new(Question::Command, "action", None)),
            KeyCommand::Explain => self.open_help(HelpText::Screen),
            KeyCommand::Help => self.open_help(HelpText::Keys),
            KeyCommand::Theme => {
                self.settings.theme = self.settings.theme.next();
                self.say(format!("theme {}: W saves it", self.settings.theme.name()));
                Action::Draw
            }
            KeyCommand::Redraw => Action::Repaint,
            KeyCommand::Suspend => Action::Suspend,
            KeyCommand::Save => Action::Host(HostAction::Save),
            KeyCommand::LookBack => Action::Window(WindowAction::LookBack(1)),
            KeyCommand::Pause => {
                self.paused = !self.paused;
                match self.paused {
                    true => Action::Draw,
                    false => Action::Refresh,
                }
            }
            KeyCommand::Interval => {
                let now = self.settings.interval_s.to_string();
                self.ask_person(Prompt::new(
                    Question::Interval,
                    "seconds from one window to the next",
                    Some(now),
                ))
            }
            KeyCommand::OfMachine => {
                self.settings.of_machine = !self.settings.of_machine;
                let whole = if self.settings.of_machine { "the machine" } else { "one CPU" };
                self.say(format!("per cent of {whole}"));
                self.table.stale = true;
                Action::Draw
            }
            KeyCommand::Pressure => {
                self.shows_pressure = !self.shows_pressure;
                match self.past {
                    // Pressure is read at both ends of a window, but a paused view keeps its
                    // window.
                    None if self.shows_pressure && !self.paused => self.attaching(),
                    _ => Action::Draw,
                }
            }
            KeyCommand::IdleOwed => self.switch_owed(),
            KeyCommand::PerCpu => {
                let is_table = self.page == Page::Table;
                let next = layout::next_per_cpu(self.size, self.wants(), is_table);
                self.settings.per_cpu = next;
                self.follow_selection();
                Action::Draw
            }
            _ => return None,
        })
    }

    pub(super) fn on_table(&mut self, command: KeyCommand) -> Action {
        match command {
            KeyCommand::Threads => self.switch_threads(),
            KeyCommand::Microstates => self.switch_columns(),
            KeyCommand::Tree => self.toggle(|s| &mut s.tree),
            KeyCommand::ThreadTree => self.switch_thread_tree(),
            KeyCommand::FoldToggle | KeyCommand::Fold | KeyCommand::Unfold => self.on_fold(command),
            KeyCommand::HideIdle => self.toggle(|s| &mut s.hide_idle),
            KeyCommand::HideKernel => self.toggle(|s| &mut s.hide_kernel_threads),
            KeyCommand::CommandLine => self.switch_command_lines(),
            KeyCommand::Reverse => {
                self.table.sort.descending = !self.table.sort.descending;
                if self.table.set.is_none() {
                    self.settings.reverse = !self.settings.reverse;
                }
                self.rearranged()
            }
            KeyCommand::SortCpu => self.sort_by(ColumnId::CpuPct.column()),
            KeyCommand::SortMemory => self.sort_by(ColumnId::MemPct.column()),
            KeyCommand::SortPid => self.sort_by(ColumnId::Pid.column()),
            KeyCommand::SortTime => self.sort_by(ColumnId::Time.column()),
            KeyCommand::SortLeft => self.sort_beside(-1),
            KeyCommand::SortRight => self.sort_beside(1),
            KeyCommand::ScrollLeft
            | KeyCommand::ScrollRight
            | KeyCommand::PastLeft
            | KeyCommand::PastRight => {
                self.scroll_sideways(command);
                Action::Draw
            }
            KeyCommand::Up
            | KeyCommand::Down
            | KeyCommand::PageUp
            | KeyCommand::PageDown
            | KeyCommand::Home
            | KeyCommand::End => self.move_selection(command),
            KeyCommand::Mark => self.on_mark(),
            KeyCommand::Back => self.on_back(),
            KeyCommand::Open => self.open_process(Shows::Overview),
            KeyCommand::Calls => self.open_process(Shows::Calls),
            KeyCommand::Environment => self.open_process(Shows::Environment),
            KeyCommand::Files => self.open_process(Shows::Files),
            KeyCommand::Groups => self.open_groups(),
            KeyCommand::Sums => self.open_sums(),
            KeyCommand::Findings => self.open_findings(),
            KeyCommand::Graph => self.open_graph(),
            KeyCommand::Columns => {
                let Table { columns, sort, .. } = &self.table;
                self.page = Page::ColumnChooser(ColumnChooser::new(columns, sort.column));
                Action::Draw
            }
            KeyCommand::Quit => Action::Quit,
            _ => self.on_question(command),
        }
    }

    /// Leaves the last entered view; the table drops its selection.
    fn on_back(&mut self) -> Action {
        // The time line says so.
        if self.is_looking_back() {
            return Action::Window(WindowAction::LookOn);
        }
        if self.table.is_scrolled() {
            self.table.scroll_home();
            return Action::Draw;
        }
        if self.table.set.is_some() {
            return self.leave_set();
        }
        if self.table.marked.is_some() {
            return self.on_mark();
        }
        if self.table.members_of.is_some() {
            return self.leave_members();
        }
        self.table.begin_at_top();
        self.table.search = None;
        self.untag();
        Action::Draw
    }

    fn toggle(&mut self, flag: fn(&mut crate::Settings) -> &mut bool) -> Action {
        let flag = flag(&mut self.settings);
        *flag = !*flag;
        self.rearranged()
    }

    fn switch_threads(&mut self) -> Action {
        self.settings.threads = !self.settings.threads;
        self.other_rows()
    }

    /// Switches between the tree with threads below their process and the list of processes.
    fn switch_thread_tree(&mut self) -> Action {
        let shown = self.settings.tree && self.settings.threads;
        let had_threads = std::mem::replace(&mut self.settings.threads, !shown);
        self.settings.tree = !shown;
        match had_threads == shown {
            true => self.other_rows(),
            false => self.rearranged(),
        }
    }

    /// Shows threads instead of processes, or the reverse. A source that reads one of them has no
    /// figures of the other yet.
    fn other_rows(&mut self) -> Action {
        let action = self.rearranged();
        match self.frame().is_some_and(|frame| !frame.provenance.source.keeps_books()) {
            true => self.attaching(),
            false => action,
        }
    }

    fn switch_command_lines(&mut self) -> Action {
        self.settings.command_line = match self.shows_command_lines() {
            true => AutoSwitch::Never,
            false => AutoSwitch::Always,
        };
        self.rearranged()
    }

    /// Switches between microstates and the previous columns.
    fn switch_columns(&mut self) -> Action {
        self.settings.microstates = !self.shows_microstates();
        match self.table.set {
            Some(_) => self.use_set(None),
            None => self.table.set_columns(self.settings.column_list()),
        }
        self.rearranged()
    }

    pub(super) fn rearranged(&mut self) -> Action {
        self.table.stale = true;
        Action::Rearrange
    }

    /// Sorts by a column in its natural order.
    pub(super) fn sort_by(&mut self, column: &'static Column) -> Action {
        self.table.sort = SortBy::column(column);
        if self.table.set.is_none() {
            (self.settings.sort, self.settings.reverse) = (column.id, false);
        }
        self.say(format!("sorted by {}", column.title));
        self.rearranged()
    }

    fn sort_beside(&mut self, step: isize) -> Action {
        self.sort_by(self.table.column_beside(step))
    }

    fn open_process(&mut self, shows: Shows) -> Action {
        let Some(key) = self.process_to_open() else {
            self.complain("no process is selected: ↑ ↓ select one");
            return Action::Draw;
        };
        self.page = Page::Process(ProcessPage { shows, ..ProcessPage::new(key) });
        match shows {
            Shows::Overview | Shows::Calls => self.attaching(),
            Shows::Environment | Shows::Files => self.rearranged(),
        }
    }

    fn switch_owed(&mut self) -> Action {
        if self.past.is_some() {
            self.complain("a recorded window has no idle time owed: it is counted on request");
            return Action::Draw;
        }
        self.shows_owed = !self.shows_owed;
        match self.shows_owed {
            true => self.attaching(),
            false => Action::Draw,
        }
    }

    /// Ends the window at once and makes the next one short, because the new figures count only from
    /// the next window on.
    pub(super) fn attaching(&mut self) -> Action {
        match self.past {
            None => {
                self.hurries = true;
                Action::Refresh
            }
            Some(_) => self.rearranged(),
        }
    }

    /// Keys on a process's page.
    fn on_process(&mut self, command: KeyCommand) -> Action {
        let lines = usize::from(self.size.1) / 2;
        let last_top = self.last_top.get();
        let Page::Process(page) = &mut self.page else { return Action::Draw };
        page.top = page.top.min(last_top);
        let scrolls = scroll_lines(&mut page.top, command, lines);
        let to = match command {
            KeyCommand::Calls => Some(Shows::Calls),
            KeyCommand::Environment => Some(Shows::Environment),
            KeyCommand::Files => Some(Shows::Files),
            KeyCommand::Back if page.shows != Shows::Overview => Some(Shows::Overview),
            _ => None,
        };
        if let Some(to) = to {
            // The same key opens the part and goes back.
            let shows = if page.shows == to { Shows::Overview } else { to };
            (page.shows, page.top) = (shows, 0);
            return self.attaching();
        }
        match command {
            KeyCommand::Kill
            | KeyCommand::Renice
            | KeyCommand::Affinity
            | KeyCommand::MoveToGroup
            | KeyCommand::Microstates
            | KeyCommand::Groups => self.on_table(command),
            _ if scrolls => Action::Draw,
            _ => self.close_page_or_complain(command),
        }
    }

    /// The process of the selected row: a thread's process, an exited group's living ancestor. The
    /// leader's start time is the process's.
    fn process_to_open(&self) -> Option<TaskKey> {
        let arranged = self.arranged.as_ref()?;
        let (tgid, task) = match self.marked()? {
            RowId::Exited(ppid, ..) => (ppid, None),
            RowId::Task(key) => (key.tgid, Some(arranged.task(key)?.key)),
        };
        let leader = arranged.frame().rows.iter().find(|r| r.key.tid == tgid);
        leader.map(|r| r.key).or(task)
    }

    fn on_chooser_key(&mut self, key: &KeyEvent) -> Action {
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        let code = if ctrl && key.code == KeyCode::Char('c') { KeyCode::Esc } else { key.code };
        let lines = super::column_chooser::rows(self.size.1);
        let Page::ColumnChooser(chooser) = &mut self.page else { return Action::Draw };
        match chooser.key(code, lines) {
            Outcome::Open => Action::Draw,
            Outcome::Refused(why) => {
                self.complain(why);
                Action::Draw
            }
            Outcome::Search => {
                self.ask_person(Prompt::new(Question::Column, "find a column", None))
            }
            Outcome::Sort => {
                let column = chooser.sort;
                self.sort_by(column)
            }
            Outcome::Close => {
                self.table.set_columns(chooser.chosen());
                self.note_columns();
                self.page = Page::Table;
                self.rearranged()
            }
        }
    }
}
