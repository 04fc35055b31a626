//! The state of the live view, and its changes by keys, clicks and frames. It uses no terminal,
//! clock or source: it returns work for these as an [`Action`].

pub mod action;
mod answering;
pub mod arrange;
pub mod column_chooser;
pub(crate) mod command;
pub mod events;
pub mod findings;
pub(crate) mod first_line;
mod folding;
pub mod groups;
pub mod help;
pub mod holdings;
pub mod looking;
pub mod marking;
pub(crate) mod matching;
pub(crate) mod members;
mod mouse;
pub mod next_frame;
mod ordering;
mod palette;
pub mod past;
pub mod placement;
pub mod process;
pub mod question;
pub(crate) mod ran_on;
pub(crate) mod recent;
mod scroll;
pub mod select;
pub mod sets;
pub(crate) mod shown;
pub mod sums;
mod table;
pub mod tags;
pub mod target;
pub(crate) mod tracked;

use crate::layout::{self, Cpus, LayoutNeeds, PlacedColumn, Screen, Widths};
use crate::settings::{AutoSwitch, Settings};
pub use action::Action;
use arrange::{Arranged, Entry, Rules, UserFilter};
use column_chooser::ColumnChooser;
use exactop_model::columns::{Column, ColumnId, Context};
use exactop_model::owner::Grouping;
use exactop_model::words::order::Order;
use exactop_model::{Frame, Needs, TaskKey};
use findings::FindingsPage;
use first_line::FirstLine;
use groups::GroupsPage;
use past::ShownPast;
use process::ProcessPage;
use question::Prompt;
use recent::Recent;
use std::cell::Cell;
use sums::SumsPage;
use table::Table;

/// The page on the screen.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub enum Page {
    Table,
    Process(ProcessPage),
    /// The column chooser.
    ColumnChooser(ColumnChooser),
    /// Control groups.
    Groups(GroupsPage),
    /// Totals by command, user, group, unit, container, pod, namespace or session.
    Sums(SumsPage),
    /// Findings on the window.
    Findings(FindingsPage),
    /// The states of this task over its last windows.
    Graph(TaskKey),
}

/// A line for the user, shown until the next key. A note also goes by itself, because it hides the
/// state of the books.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Message {
    pub text: String,
    /// True for a failure.
    pub is_error: bool,
    /// Length of the windows that ended meanwhile, ns, without the one that was open at first; `None`
    /// before the end of that one.
    pub(crate) age_ns: Option<u64>,
}

/// A note stays until windows of together this length have ended, ns, without the one that was open.
const NOTE_NS: u64 = 10_000_000_000;

/// The live view.
#[derive(Debug)]
pub struct App {
    pub(crate) settings: Settings,
    /// The table of processes, which stays while another page is open.
    pub(crate) table: Table,
    /// The frame and the lines of the table, replaced together.
    pub(crate) arranged: Option<Arranged>,
    pub(crate) size: (u16, u16),
    pub(crate) page: Page,
    /// The findings that led to the page.
    came_from: Option<FindingsPage>,
    /// The help over the page.
    pub(crate) help: Option<help::Help>,
    pub(crate) prompt: Option<Prompt>,
    /// Earlier filters and searches.
    pub(crate) answers: palette::Answers,
    pub(crate) message: Option<Message>,
    /// Why there is no newer frame.
    pub(crate) failure: Option<String>,
    pub(crate) paused: bool,
    /// Holdings of the open page's process.
    pub(crate) holdings: Option<holdings::HoldingsAnswer>,
    /// Place in a recording, if one is shown.
    pub(crate) past: Option<ShownPast>,
    /// True if graphs are drawn in braille, of two windows to a character.
    pub(crate) has_braille: bool,
    /// How busy the machine was in recent windows.
    pub(crate) recent: Recent,
    /// Windows of the selected task.
    pub(crate) tracked: tracked::Tracked,
    /// CPUs of the process whose page was open last.
    pub(crate) ran_on: Option<ran_on::RanOn>,
    /// Dimension of the totals on their page, or at its next opening.
    pub(crate) sums_by: Grouping,
    /// Sort orders of the pages of groups and of totals, once the user chose them.
    pub(crate) groups_order: Option<Order>,
    pub(crate) sums_order: Option<Order>,
    /// True if pressure and disk I/O replace the memory line.
    pub(crate) shows_pressure: bool,
    /// True if the balance has the idle time owed, which programs count meanwhile.
    pub(crate) shows_owed: bool,
    /// True after the user opened a page whose figures count from now on: the next window is short.
    pub(crate) hurries: bool,
    /// What the programs that the open window began with measure.
    pub(crate) watches: Needs,
    /// True if such programs were attached in the open window, and in the one on the screen.
    pub(crate) attaches: [bool; 2],
    /// The first line when the end of the drawn text is on the screen, until the next event.
    pub(crate) last_top: Cell<usize>,
    /// Widths of the drawn first line.
    first_line: Cell<FirstLine>,
}

impl App {
    /// A view without a frame.
    ///
    /// # Errors
    /// A setting is invalid.
    pub fn new(settings: Settings) -> Result<App, String> {
        settings.check()?;
        Ok(App {
            table: Table::new(&settings)?,
            settings,
            arranged: None,
            size: (80, 24),
            page: Page::Table,
            came_from: None,
            help: None,
            prompt: None,
            answers: palette::Answers::default(),
            message: None,
            failure: None,
            paused: false,
            holdings: None,
            past: None,
            has_braille: true,
            recent: Recent::default(),
            tracked: tracked::Tracked::default(),
            ran_on: None,
            sums_by: Grouping::PAGES[0],
            groups_order: None,
            sums_order: None,
            shows_pressure: false,
            shows_owed: false,
            hurries: false,
            watches: Needs::NONE,
            attaches: [false; 2],
            last_top: Cell::new(usize::MAX),
            first_line: Cell::default(),
        })
    }

    /// The current settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The size of the terminal as the view knows it.
    pub fn size(&self) -> (u16, u16) {
        self.size
    }

    /// The last frame.
    pub fn frame(&self) -> Option<&Frame> {
        self.arranged.as_ref().map(Arranged::frame)
    }

    /// The lines of the table, with their rows.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.arranged.iter().flat_map(Arranged::entries)
    }

    /// Number of lines of the table.
    pub fn line_count(&self) -> usize {
        self.arranged.as_ref().map_or(0, Arranged::len)
    }

    /// True if rows are threads.
    pub(crate) fn shows_threads(&self) -> bool {
        self.arranged.as_ref().is_some_and(Arranged::has_threads)
    }

    /// The page on the screen.
    pub fn page(&self) -> &Page {
        &self.page
    }

    /// The open question.
    pub fn prompt(&self) -> Option<&Prompt> {
        self.prompt.as_ref()
    }

    /// The message on the status line.
    pub fn message(&self) -> Option<&Message> {
        self.message.as_ref()
    }

    /// True if the window on the screen stays until a key is pressed.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// True if no window ends until a key is pressed: a paused view, or a recording that stands still.
    pub fn holds_window(&self) -> bool {
        self.paused && !self.is_looking_back()
    }

    /// Sets the size of the terminal. Cells beyond the largest real terminal stay empty.
    pub fn resize(&mut self, width: u16, height: u16) {
        self.size = layout::canvas_size(width, height);
        self.follow_selection();
    }

    /// Shows a message.
    pub fn say(&mut self, text: impl Into<String>) {
        self.message = Some(Message { text: text.into(), is_error: false, age_ns: None });
    }

    /// Shows an error message.
    pub fn complain(&mut self, text: impl Into<String>) {
        self.message = Some(Message { text: text.into(), is_error: true, age_ns: None });
    }

    /// Notes that a window of this length ended, and drops a note that stood long enough.
    fn age_message(&mut self, length_ns: u64) {
        let Some(message) = self.message.as_mut().filter(|message| !message.is_error) else {
            return;
        };
        let age_ns = message.age_ns.map_or(0, |age_ns| age_ns + length_ns);
        message.age_ns = Some(age_ns);
        if age_ns >= NOTE_NS {
            self.message = None;
        }
    }

    /// Notes that the next frame failed. The screen keeps the last frame and shows `why`.
    pub fn set_failure(&mut self, why: String) {
        self.failure = Some(why);
        // A note would hide it.
        self.message = self.message.take().filter(|message| message.is_error);
    }

    /// True if the screen shows an old frame because the next one failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// True if a page was opened whose figures are counted from now on.
    pub(crate) fn hurries(&self) -> bool {
        self.hurries
    }

    /// True if the window on the screen counts the cost of attaching programs for a page.
    pub(crate) fn attached_in_window(&self) -> bool {
        self.attaches[1] && self.past.is_none()
    }

    /// Restricts rows to the user that [`action::HostAction::LookUpUser`] asked for. `uid`: the
    /// host's answer.
    pub fn set_user(&mut self, text: &str, uid: Option<u32>) {
        let name = text.strip_prefix('!').unwrap_or(text).trim();
        let Some(uid) = uid.or_else(|| name.parse().ok()) else {
            return self
                .complain(format!("no user '{}'", exactop_model::text::escape::escape_str(name)));
        };
        self.settings.user = Some(text.into());
        self.table.user =
            Some(UserFilter { text: text.into(), uid, negated: text.starts_with('!') });
        self.table.stale = true;
    }

    /// Inputs of the values, for the last frame.
    pub(crate) fn context(&self) -> Context {
        self.context_of(self.frame())
    }

    /// True if rows show command lines, false if they show names. The threads on a process's page
    /// share its line, which stands above them.
    pub(crate) fn shows_command_lines(&self) -> bool {
        let is_page = matches!(self.page, Page::Process(_));
        match self.settings.command_line {
            AutoSwitch::Auto => self.size.0 >= layout::COMMAND_LINES_FROM && !is_page,
            AutoSwitch::Always => true,
            AutoSwitch::Never => false,
        }
    }

    fn context_of(&self, frame: Option<&Frame>) -> Context {
        Context {
            window_ns: frame.map_or(0, Frame::length_ns),
            cpus: frame.map_or(1, |f| f.cpus.len() as u32),
            of_machine: self.settings.of_machine,
            command_line: self.shows_command_lines(),
            memory_total: frame.and_then(|f| f.system.memory).map(|m| m.total),
            boottime_ns: frame.and_then(Frame::boottime_ns),
        }
    }

    /// Rules for a frame. `threads`: its rows are threads.
    pub(crate) fn rules(&self, frame: &Frame, threads: bool) -> Rules<'_> {
        Rules {
            threads,
            tree: self.settings.tree,
            hide_idle: self.settings.hide_idle,
            hide_kernel: self.settings.hide_kernel_threads,
            only_new: self.table.set == Some(sets::TableSet::New),
            sort: self.table.sort,
            filters: &self.table.filters,
            user: self.table.user.as_ref(),
            members_of: self.table.members_of.as_ref().map(|members| &members.whose),
            folded: Some(&self.table.folded),
            context: self.context_of(Some(frame)),
        }
    }

    /// The layout of the screen; `None` if the screen is too small.
    pub(crate) fn screen(&self) -> Option<Screen> {
        layout::screen(self.size.0, self.size.1, self.wants())
    }

    /// The parts that need room. On the full pages, CPUs have a part only if the user asked for
    /// them.
    pub(crate) fn wants(&self) -> LayoutNeeds {
        let cpus = self.frame().map_or(Cpus::default(), |frame| Cpus {
            count: frame.cpus.len(),
            last: frame.cpus.iter().map(|cpu| cpu.account.time.cpu).max().unwrap_or(0),
        });
        let per_cpu = match (self.settings.per_cpu, &self.page) {
            (AutoSwitch::Auto, Page::Table) => AutoSwitch::Auto,
            (AutoSwitch::Auto, _) => AutoSwitch::Never,
            (asked, _) => asked,
        };
        let findings = self.frame().is_some_and(|frame| !frame.findings.is_empty());
        let reserved = self.settings.findings;
        let recorded = self.past.is_some();
        // This page fills the screen and has a line of its own.
        let fills = matches!(self.page, Page::ColumnChooser(_));
        let footer = self.settings.footer && !fills;
        LayoutNeeds { cpus, per_cpu, recorded, findings, reserved, footer }
    }

    /// The columns of the table that fit.
    pub(crate) fn placed(&self) -> Vec<PlacedColumn> {
        let least = self.least_rest();
        let Table { widths, sort, column_offset, .. } = &self.table;
        let width = self.size.0;
        let width = width - self.bar_width().map_or(0, |bar| bar + 1);
        layout::place(&self.available_columns(), widths, sort.column, *column_offset, width, least)
    }

    /// The columns that have values. Values read from /proc exist only for living processes, so
    /// earlier windows lack them.
    pub(crate) fn available_columns(&self) -> Vec<&'static Column> {
        const OF_THE_LIVING: [Needs; 3] = [Needs::STAT, Needs::STATM, Needs::DISK];
        let read = |column: &Column| OF_THE_LIVING.iter().any(|&need| column.needs.has(need));
        let mut all = self.table.columns.clone();
        if self.shows_pressure && matches!(self.page, Page::Table) {
            // With the machine's disk I/O on screen, each row shows its own, unless the user chose
            // these columns.
            let of_disks = [ColumnId::ReadRate, ColumnId::WriteRate].map(ColumnId::column);
            let more = of_disks.into_iter().filter(|column| !self.table.columns.contains(column));
            let at = all.len().saturating_sub(1);
            all.splice(at..at, more);
        }
        let all = all.into_iter();
        all.filter(|column| !(self.is_looking_back() && read(column))).collect()
    }

    /// Resets column widths to those of the values shown from here on.
    pub(crate) fn forget_widths(&mut self) {
        self.table.widths = Widths::default();
    }

    fn least_rest(&self) -> u16 {
        // A bar of states is worth more than a long command.
        let lines = self.shows_command_lines() && !self.shows_microstates();
        layout::least_rest(self.size.0, self.settings.tree || lines)
    }

    /// Width of the bar of states right of the table, if there is room.
    pub(crate) fn bar_width(&self) -> Option<u16> {
        let (columns, width) = (self.available_columns(), self.size.0);
        match self.shows_microstates() {
            true => layout::bar_width(&columns, &self.table.widths, width, self.least_rest()),
            false => None,
        }
    }

    /// Rows of the table.
    pub(crate) fn body_rows(&self) -> usize {
        self.screen().map_or(0, |s| usize::from(s.body_rows))
    }
}
