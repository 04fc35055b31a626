//! What the next frame must bring, from what is on the screen: nothing that nobody looks at.

use super::{App, Page};
use exactop_model::columns::{self, Column, Kind};
use exactop_model::{Ask, FrameOptions, Needs, Still};

/// Columns of the table of threads on a process's page.
pub const PAGE_COLUMNS: &[&str] = &[
    "pid",
    "s",
    "cpu_pct",
    "usr_pct",
    "sys_pct",
    "stl_pct",
    "lat_pct",
    "slp_pct",
    "blk_pct",
    "vcx",
    "icx",
    "migrations",
    "last_cpu",
    "command",
];

impl App {
    /// What to ask the feed for.
    pub fn ask(&self) -> Ask {
        let page = self.process_page().map(|p| p.key.tgid);
        let threads = self.settings.threads && page.is_none();
        let mut needs = self.row_needs() | Needs::MACHINE;
        if threads {
            needs = needs | Needs::THREADS;
        }
        if page.is_some() {
            needs = needs | Needs::CPU_SHARES | Needs::THREADS;
        }
        Ask {
            options: FrameOptions { threads, still: self.still(), threads_of: page },
            needs,
            watch: page,
            groups: matches!(self.page, Page::Groups(_)),
        }
    }

    /// What the rows on the screen need.
    pub(crate) fn row_needs(&self) -> Needs {
        if self.process_page().is_some() {
            let page = columns::needs(self.page_columns());
            let command = Needs::USER | Needs::CMDLINE | Needs::CGROUP;
            return page | command | Needs::STAT | Needs::STATM;
        }
        let shown = self.placed();
        let filters = self.filters.iter().map(|f| f.column());
        let all = shown.iter().map(|p| p.column).chain(filters).chain([self.sort.column]);
        let mut needs = Needs::NONE;
        for column in all {
            needs = needs | self.needs_of(column);
        }
        needs
    }

    /// What the order and the choice of rows need, so of every row.
    pub(crate) fn needs_of_all(&self) -> Needs {
        let filters = self.filters.iter().map(|f| f.column()).chain([self.sort.column]);
        let needs = filters.fold(Needs::NONE, |needs, c| needs | self.needs_of(c));
        let searched = self.search_due && self.settings.command_line;
        if searched {
            needs | Needs::CMDLINE
        } else {
            needs
        }
    }

    fn needs_of(&self, column: &Column) -> Needs {
        match column.id {
            "command" if self.settings.command_line => column.needs | Needs::CMDLINE,
            _ => column.needs,
        }
    }

    /// How many rows of tasks that did nothing.
    fn still(&self) -> Still {
        if self.process_page().is_some() {
            return Still::Hide;
        }
        if self.settings.tree || self.search.is_some() || self.end_due {
            return Still::All;
        }
        if self.settings.hide_idle {
            return Still::Hide;
        }
        let chosen = !self.filters.is_empty() || self.user.is_some();
        // A selected process keeps its row when it falls asleep.
        let followed = self.selected().is_some();
        if chosen || followed || !is_activity(self.sort.column) || !self.sort.descending {
            return Still::All;
        }
        Still::Some(self.body_rows().max(self.reach))
    }

    /// The columns of the threads on a process's page.
    pub(crate) fn page_columns(&self) -> impl Iterator<Item = &'static Column> {
        let ids = if self.settings.microstates { columns::MICROSTATES } else { PAGE_COLUMNS };
        ids.iter().filter_map(|id| columns::find(id))
    }

    pub(crate) fn process_page(&self) -> Option<&super::ProcessPage> {
        match &self.page {
            Page::Process(page) => Some(page),
            _ => None,
        }
    }
}

/// Whether a task that did nothing in the window has 0 there, so that sorting by it puts all
/// still tasks last, in the order of their PIDs.
fn is_activity(column: &Column) -> bool {
    let kind =
        matches!(column.kind, Kind::Cpu | Kind::User | Kind::System | Kind::Steal | Kind::Events);
    // TIME+ is of the whole life.
    kind && column.id != "time"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_columns_that_exist() {
        assert!(PAGE_COLUMNS.iter().all(|id| columns::find(id).is_some()));
    }

    #[test]
    fn a_life_long_figure_is_not_activity() {
        let activity = |id| columns::find(id).map(is_activity);
        assert_eq!(activity("cpu_pct"), Some(true));
        assert_eq!(activity("time"), Some(false));
        assert_eq!(activity("lat_pct"), Some(false));
        assert_eq!(activity("res"), Some(false));
    }
}
