//! The state of the live view and how keys, clicks and frames change it. Pure: no terminal, no
//! clock, no source; what must be done outside comes back as an [`Action`].

pub mod action;
mod answering;
pub mod arrange;
pub mod column_chooser;
pub mod events;
pub mod findings;
mod folding;
pub mod groups;
pub mod holdings;
pub mod looking;
pub mod marking;
pub(crate) mod members;
pub mod next_frame;
mod ordering;
pub mod past;
pub mod process;
pub mod question;
mod recent;
pub mod select;
pub(crate) mod shown;
pub mod sums;
mod table;
pub mod tags;
pub mod target;

use crate::layout::{self, Cpus, Placed, Screen, Wants, Widths};
use crate::settings::{PerCpu, Settings};
pub use action::Action;
use arrange::{Arranged, Entry, Rules, UserFilter};
use column_chooser::ColumnChooser;
use exactop_model::columns::{Column, ColumnId, Context};
use exactop_model::owner::By;
use exactop_model::words::order::Order;
use exactop_model::{Frame, Needs};
use findings::FindingsPage;
use groups::GroupsPage;
use past::Past;
use process::ProcessPage;
use question::Prompt;
use recent::Recent;
use sums::SumsPage;
use table::Table;

/// What fills the screen.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub enum Page {
    Table,
    Process(ProcessPage),
    /// The keys and columns; the first line shown.
    Help(usize),
    /// The column chooser.
    ColumnChooser(ColumnChooser),
    /// Control groups.
    Groups(GroupsPage),
    /// Totals by command, user, group, unit, container, pod or namespace.
    Sums(SumsPage),
    /// What the window has to say by itself.
    Findings(FindingsPage),
}

/// A line for the person, until the next key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Message {
    pub text: String,
    /// Whether something failed.
    pub is_error: bool,
}

/// The live view.
#[derive(Debug)]
pub struct App {
    pub(crate) settings: Settings,
    /// The table of processes, which is kept while another page is open.
    pub(crate) table: Table,
    /// The frame and the lines of the table, replaced as one.
    pub(crate) arranged: Option<Arranged>,
    pub(crate) size: (u16, u16),
    pub(crate) page: Page,
    pub(crate) prompt: Option<Prompt>,
    pub(crate) message: Option<Message>,
    /// Why there is no newer frame.
    pub(crate) failure: Option<String>,
    pub(crate) paused: bool,
    /// What the process of the open page holds.
    pub(crate) holdings: Option<holdings::Told>,
    /// Where in a recording it is, if it is of one.
    pub(crate) past: Option<Past>,
    /// How busy the machine was until now.
    pub(crate) recent: Recent,
    /// What totals are by, on their page or when it is opened next.
    pub(crate) sums_by: By,
    /// The orders of the pages of groups and of totals, once somebody chose them.
    pub(crate) groups_order: Option<Order>,
    pub(crate) sums_order: Option<Order>,
    /// Pressure and disk I/O stand where the memory does.
    pub(crate) shows_pressure: bool,
    /// Something was opened that is counted from now on: the window that begins now is to be short.
    pub(crate) hurries: bool,
}

impl App {
    /// A view of nothing yet.
    ///
    /// # Errors
    /// What is wrong with the settings.
    pub fn new(settings: Settings) -> Result<App, String> {
        settings.check()?;
        Ok(App {
            table: Table::new(&settings)?,
            settings,
            arranged: None,
            size: (80, 24),
            page: Page::Table,
            prompt: None,
            message: None,
            failure: None,
            paused: false,
            holdings: None,
            past: None,
            recent: Recent::default(),
            sums_by: By::PAGES[0],
            groups_order: None,
            sums_order: None,
            shows_pressure: false,
            hurries: false,
        })
    }

    /// The settings as they stand.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The size of the terminal as it knows it.
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

    /// How many lines the table has.
    pub fn line_count(&self) -> usize {
        self.arranged.as_ref().map_or(0, Arranged::len)
    }

    /// Whether rows are threads.
    pub(crate) fn shows_threads(&self) -> bool {
        self.arranged.as_ref().is_some_and(Arranged::has_threads)
    }

    /// What fills the screen.
    pub fn page(&self) -> &Page {
        &self.page
    }

    /// The prompt being answered.
    pub fn prompt(&self) -> Option<&Prompt> {
        self.prompt.as_ref()
    }

    /// The message on the status line.
    pub fn message(&self) -> Option<&Message> {
        self.message.as_ref()
    }

    /// Whether new windows wait.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Tells it the size of the terminal. What is larger than any real one stays empty.
    pub fn resize(&mut self, width: u16, height: u16) {
        self.size = layout::canvas_size(width, height);
        self.follow_selection();
    }

    /// Shows a line of text.
    pub fn say(&mut self, text: impl Into<String>) {
        self.message = Some(Message { text: text.into(), is_error: false });
    }

    /// Shows what went wrong.
    pub fn complain(&mut self, text: impl Into<String>) {
        self.message = Some(Message { text: text.into(), is_error: true });
    }

    /// The next frame could not be had; the last one stays, and the screen says so.
    pub fn set_failure(&mut self, why: String) {
        self.failure = Some(why);
    }

    /// Whether the frame on the screen is an old one, since no other could be had.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Whether something was opened that is counted from now on.
    pub(crate) fn hurries(&self) -> bool {
        self.hurries
    }

    /// Restricts rows to a user, as asked for by [`action::HostAction::LookUpUser`]. `uid`: what the host
    /// found.
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

    /// What values depend on, for the last frame.
    pub(crate) fn context(&self) -> Context {
        self.context_of(self.frame())
    }

    fn context_of(&self, frame: Option<&Frame>) -> Context {
        Context {
            window_ns: frame.map_or(0, Frame::length_ns),
            cpus: frame.map_or(1, |f| f.cpus.len() as u32),
            of_machine: self.settings.of_machine,
            command_line: self.settings.command_line,
            memory_total: frame.and_then(|f| f.system.memory).map(|m| m.total),
            boottime_ns: frame.and_then(Frame::boottime_ns),
        }
    }

    /// How to arrange a frame. `threads`: it has a row for each.
    pub(crate) fn rules(&self, frame: &Frame, threads: bool) -> Rules<'_> {
        Rules {
            threads,
            tree: self.settings.tree,
            hide_idle: self.settings.hide_idle,
            hide_kernel: self.settings.hide_kernel_threads,
            sort: self.table.sort,
            filters: &self.table.filters,
            user: self.table.user.as_ref(),
            members_of: self.table.members_of.as_ref().map(|members| &members.whose),
            folded: Some(&self.table.folded),
            context: self.context_of(Some(frame)),
        }
    }

    /// Where everything stands; `None` if the screen is too small.
    pub(crate) fn screen(&self) -> Option<Screen> {
        layout::screen(self.size.0, self.size.1, self.wants())
    }

    /// What wants a place on it. CPUs that nobody asked for have none on the pages, which are full.
    pub(crate) fn wants(&self) -> Wants {
        let cpus = self.frame().map_or(Cpus::default(), |frame| Cpus {
            count: frame.cpus.len(),
            last: frame.cpus.iter().map(|cpu| cpu.account.time.cpu).max().unwrap_or(0),
        });
        let per_cpu = match (self.settings.per_cpu, &self.page) {
            (PerCpu::Auto, Page::Table) => PerCpu::Auto,
            (PerCpu::Auto, _) => PerCpu::Never,
            (asked, _) => asked,
        };
        let findings = self.frame().is_some_and(|frame| !frame.findings.is_empty());
        let reserved = self.settings.findings;
        let recorded = self.past.is_some();
        // These fill the screen and have a line of their own.
        let fills = matches!(self.page, Page::Help(_) | Page::ColumnChooser(_));
        let footer = self.settings.footer && !fills;
        Wants { cpus, per_cpu, recorded, findings, reserved, footer }
    }

    /// The columns of the table that fit.
    pub(crate) fn placed(&self) -> Vec<Placed> {
        let least = self.least_rest();
        let Table { widths, sort, column_offset, .. } = &self.table;
        let width = self.size.0;
        let width = width - self.bar_width().map_or(0, |bar| bar + 1);
        layout::place(&self.there(), widths, sort.column, *column_offset, width, least)
    }

    /// The columns of which there is something: what is read of processes that live was read of nobody
    /// for windows that are over.
    fn there(&self) -> Vec<&'static Column> {
        const OF_THE_LIVING: [Needs; 3] = [Needs::STAT, Needs::STATM, Needs::DISK];
        let read = |column: &Column| OF_THE_LIVING.iter().any(|&need| column.needs.has(need));
        let mut all = self.table.columns.clone();
        if self.shows_pressure && matches!(self.page, Page::Table) {
            // Beside the machine's disk I/O that of each row, where its columns are not chosen anyway.
            let of_disks = [ColumnId::ReadRate, ColumnId::WriteRate].map(ColumnId::column);
            let more = of_disks.into_iter().filter(|column| !self.table.columns.contains(column));
            let at = all.len().saturating_sub(1);
            all.splice(at..at, more);
        }
        let all = all.into_iter();
        all.filter(|column| !(self.is_looking_back() && read(column))).collect()
    }

    /// Columns get as wide as what is shown from here on.
    pub(crate) fn forget_widths(&mut self) {
        self.table.widths = Widths::default();
    }

    fn least_rest(&self) -> u16 {
        layout::least_rest(self.size.0, self.settings.tree || self.settings.command_line)
    }

    /// The width of the bar of states to the right of the table, where there is room for one.
    pub(crate) fn bar_width(&self) -> Option<u16> {
        let (columns, width) = (self.there(), self.size.0);
        match self.settings.microstates {
            true => layout::bar_width(&columns, &self.table.widths, width, self.least_rest()),
            false => None,
        }
    }

    /// Rows of the table.
    pub(crate) fn body_rows(&self) -> usize {
        self.screen().map_or(0, |s| usize::from(s.body_rows))
    }
}
