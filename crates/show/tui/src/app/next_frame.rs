//! What the next frame must bring, from what is on the screen: nothing that nobody looks at.

use super::process::Shows;
use super::{App, Page};
use exactop_model::columns::{self, Column, MICROSTATES, THREADS};
use exactop_model::{Ask, FrameOptions, Needs, Still};

/// From this width on the header may have room for pressure beside the memory.
const ROOM_FOR_PRESSURE: u16 = 100;

impl App {
    /// What to ask the feed for.
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
            needs = needs | Needs::CPU_SHARES | Needs::THREADS | self.watched_needs();
        }
        let by = match &self.page {
            Page::Sums(page) => Some(page.by),
            _ => None,
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

    /// What programs are attached for while the page shows it.
    fn watched_needs(&self) -> Needs {
        match self.process_page().map(|page| page.shows) {
            Some(Shows::Overview) => Needs::MOVES,
            Some(Shows::Calls) => Needs::SYSCALLS,
            Some(Shows::Environment | Shows::Files) | None => Needs::NONE,
        }
    }

    /// What the rows on the screen need.
    pub(crate) fn row_needs(&self) -> Needs {
        if self.process_page().is_some() {
            let page = columns::needs(self.page_columns(), false);
            let command = Needs::USER | Needs::CMDLINE | Needs::CGROUP;
            return page | command | Needs::STAT | Needs::STATM;
        }
        let shown = self.placed();
        let filters = self.filters.iter().map(|f| f.column());
        let all = shown.iter().map(|p| p.column).chain(filters).chain([self.sort.column]);
        columns::needs(all, self.settings.command_line) | self.members_needs()
    }

    /// What the order and the choice of rows need, so of every row.
    pub(crate) fn needs_of_all(&self) -> Needs {
        let filters = self.filters.iter().map(|f| f.column()).chain([self.sort.column]);
        let needs = columns::needs(filters, self.settings.command_line) | self.members_needs();
        let searched = self.search_due && self.settings.command_line;
        if searched {
            needs | Needs::CMDLINE
        } else {
            needs
        }
    }

    /// What tells who belongs to the group or total that was entered.
    fn members_needs(&self) -> Needs {
        self.members_of.as_ref().map_or(Needs::NONE, |members| members.whose.needs())
    }

    /// How many rows of tasks that did nothing.
    fn still(&self) -> Still {
        if self.process_page().is_some() {
            return Still::Hide;
        }
        // Who is tagged stays so while it sleeps.
        if self.marked.is_some() || !self.tags.is_empty() {
            return Still::All;
        }
        if self.settings.tree || self.search.is_some() || self.end_due {
            return Still::All;
        }
        // Whose somebody is, and what is of the kernel, is told by rows that may be idle.
        if self.members_of.is_some() || self.settings.hide_kernel_threads {
            return Still::All;
        }
        if self.settings.hide_idle {
            return Still::Hide;
        }
        let chosen = !self.filters.is_empty() || self.user.is_some();
        // A selected process keeps its row when it falls asleep.
        let followed = self.selected().is_some();
        if chosen || followed || !self.sort.column.is_activity() || !self.sort.descending {
            return Still::All;
        }
        Still::Some(self.body_rows().max(self.reach))
    }

    /// The columns of the threads on a process's page.
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
