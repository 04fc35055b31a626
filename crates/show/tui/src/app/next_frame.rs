//! The request for the next frame: only the figures that the screen shows.

use super::process::Shows;
use super::{App, Page};
use exactop_model::columns::{self, Column, MICROSTATES, THREADS};
use exactop_model::on_demand::{Panel, Subject};
use exactop_model::{Ask, FrameOptions, IdleRows, Needs};

/// Least width at which the header may have room for pressure beside the memory.
const ROOM_FOR_PRESSURE: u16 = 100;

impl App {
    /// The request to the feed.
    pub fn ask(&self) -> Ask {
        let page = self.process_page().map(|p| p.key.tgid);
        let threads = self.settings.threads && page.is_none();
        let mut needs = self.row_needs() | Needs::MACHINE;
        if self.shows_pressure || self.size.0 >= ROOM_FOR_PRESSURE {
            needs = needs | Needs::PRESSURE;
        }
        if threads {
            needs = needs | Needs::THREADS;
        }
        if page.is_some() {
            needs = needs | Needs::CPU_SHARES | Needs::THREADS;
        }
        needs = needs | self.attached_needs();
        let members_by = self.table.members_of.as_ref().and_then(|members| members.whose.by());
        let by = match &self.page {
            Page::Sums(page) => Some(page.by),
            _ => members_by,
        };
        Ask {
            options: FrameOptions {
                threads,
                still: self.still(),
                threads_of: page,
                by,
                findings: self.settings.findings || matches!(self.page, Page::Findings(_)),
            },
            needs,
            watch: page,
            groups: match &self.page {
                Page::Groups(_) => true,
                Page::Sums(page) => page.by.is_of_group(),
                _ => false,
            },
            interval_ns: Some((self.settings.interval_s * 1e9) as u64),
        }
    }

    /// Figures for which programs are attached while the screen shows them.
    pub(super) fn attached_needs(&self) -> Needs {
        let of_page = match self.process_page().map(|page| page.shows) {
            Some(Shows::Overview) => Needs::panel(Panel::Overview),
            Some(Shows::Calls) => Needs::panel(Panel::Calls),
            Some(Shows::Environment | Shows::Files) | None => Needs::NONE,
        };
        match self.shows_owed {
            true => of_page | Needs::subject(Subject::Owed),
            false => of_page,
        }
    }

    /// Details that the rows on the screen need.
    pub(crate) fn row_needs(&self) -> Needs {
        if self.process_page().is_some() {
            let page = columns::needs(self.page_columns(), false);
            let command = Needs::USER | Needs::CMDLINE | Needs::CGROUP;
            return page | command | Needs::STAT | Needs::STATM;
        }
        let command_line = self.shows_command_lines();
        let shown = columns::needs(self.placed().iter().map(|p| p.column), command_line);
        shown | self.table.needs(command_line)
    }

    /// Details that the order and the selection of rows need, so of every row.
    pub(crate) fn needs_of_all(&self) -> Needs {
        let command_line = self.shows_command_lines();
        match self.table.search_due && command_line {
            true => self.table.needs(command_line) | Needs::CMDLINE,
            false => self.table.needs(command_line),
        }
    }

    /// Which idle tasks need a row.
    fn still(&self) -> IdleRows {
        if self.process_page().is_some() {
            return IdleRows::Hide;
        }
        // Tagged tasks keep their tags while they sleep.
        let table = &self.table;
        if table.marked.is_some() || !table.tags.is_empty() {
            return IdleRows::All;
        }
        if self.settings.tree || table.search.is_some() || table.end_due {
            return IdleRows::All;
        }
        // Membership and kernel threads are decided by rows that may be idle.
        if table.members_of.is_some() || self.settings.hide_kernel_threads {
            return IdleRows::All;
        }
        if self.settings.hide_idle {
            return IdleRows::Hide;
        }
        let chosen = !table.filters.is_empty() || table.user.is_some();
        // A selected process keeps its row when it falls asleep.
        let followed = self.selected().is_some() || matches!(self.page, Page::Graph(_));
        if chosen || followed || !table.sort.column.is_activity() || !table.sort.descending {
            return IdleRows::All;
        }
        IdleRows::Some(self.body_rows().max(table.reach))
    }

    /// Columns of the threads on a process's page.
    pub(crate) fn page_columns(&self) -> impl Iterator<Item = &'static Column> {
        let ids = if self.settings.microstates { MICROSTATES } else { THREADS };
        ids.iter().map(|id| id.column())
    }

    pub(crate) fn process_page(&self) -> Option<&super::ProcessPage> {
        match &self.page {
            Page::Process(page) => Some(page),
            _ => None,
        }
    }
}
