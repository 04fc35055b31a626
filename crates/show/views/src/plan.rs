//! The requested rows and columns, and a frame arranged accordingly.

use exactop_model::columns::filter::Filter;
use exactop_model::columns::sort::{self, SortBy};
use exactop_model::columns::{self, Context};
use exactop_model::{
    Ask, Column, Counter, Feed, Frame, FrameOptions, IdleRows, Needs, Row, RowKind,
};

/// A filter on the effective user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// The user.
    pub uid: u32,
    /// True: all other users instead.
    pub others: bool,
}

/// The requested rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Only these processes, or threads if rows are threads, and the exited groups whose nearest
    /// living ancestor they are. Empty: all.
    pub pids: Vec<u32>,
    /// Only rows of one effective user, or of all others.
    pub user: Option<User>,
    /// Leave out rows that used no CPU time in the window.
    pub hide_idle: bool,
    /// Expressions that must all hold.
    pub filters: Vec<Filter>,
}

/// What a view needs of every window.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The columns, in order.
    pub columns: Vec<&'static Column>,
    /// Sort order of rows.
    pub sort: SortBy,
    /// One row per thread.
    pub threads: bool,
    /// Command lines instead of command names.
    pub command_line: bool,
    /// The requested rows.
    pub selection: Selection,
    /// Make rows only for tasks that were active, or whose children were.
    pub only_active: bool,
}

/// A frame ready to print: its rows are selected, sorted and complete with details.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub struct Page {
    /// The frame; its rows have moved to the two lists below.
    pub frame: Frame,
    /// Further inputs of the columns' values.
    pub context: Context,
    pub columns: Vec<&'static Column>,
    /// Tasks or processes, in order.
    pub rows: Vec<Row>,
    /// Exited groups, in order.
    pub exited: Vec<Row>,
    /// The sort order.
    pub sort: SortBy,
    /// True if rows are threads.
    pub threads: bool,
    /// True if only idle rows were left out.
    pub is_whole: bool,
}

impl Plan {
    /// The request to the feed.
    pub fn ask(&self) -> Ask {
        let hide = self.selection.hide_idle || self.only_active;
        let still = if hide { IdleRows::Hide } else { IdleRows::All };
        let options = FrameOptions { threads: self.threads, still, ..FrameOptions::default() };
        let rows = if self.threads { Needs::THREADS } else { Needs::NONE };
        Ask {
            options,
            needs: rows | self.choosing_needs() | self.showing_needs(),
            ..Ask::default()
        }
    }

    /// Figures that every row needs before any row can be left out.
    fn choosing_needs(&self) -> Needs {
        let filters = self.selection.filters.iter().map(|f| f.column());
        let user = if self.selection.user.is_some() { Needs::USER } else { Needs::NONE };
        columns::needs(filters.chain([self.sort.column]), self.command_line) | user
    }

    fn showing_needs(&self) -> Needs {
        columns::needs(self.columns.iter().copied(), self.command_line)
    }

    /// Selects and sorts the rows of a frame, and reads the details of those that stay.
    pub fn page(&self, mut frame: Frame, feed: &mut dyn Feed) -> Page {
        let context = Context {
            window_ns: frame.length_ns(),
            cpus: frame.cpus.len() as u32,
            of_machine: false,
            command_line: self.command_line,
            memory_total: frame.system.memory.map(|m| m.total),
            boottime_ns: frame.boottime_ns(),
        };
        let mut rows = std::mem::take(&mut frame.rows);
        let mut exited = std::mem::take(&mut frame.exited);
        for list in [&mut rows, &mut exited] {
            list.retain(|row| self.selection.has(row));
            read(feed, list, self.choosing_needs());
            list.retain(|row| self.selection.filters.iter().all(|f| f.keeps(row, &context)));
            sort::sort(list, self.sort, &context);
            read(feed, list, self.showing_needs());
        }
        Page {
            frame,
            context,
            columns: self.columns.clone(),
            rows,
            exited,
            sort: self.sort,
            threads: self.threads,
            is_whole: self.selection.is_all(),
        }
    }
}

/// Reads the details of rows, as far as rows of their kind have them.
fn read(feed: &mut dyn Feed, rows: &mut [Row], needs: Needs) {
    let mut exited: Vec<&mut Row> = rows.iter_mut().filter(|r| r.kind == RowKind::Exited).collect();
    if needs.of_exited() != Needs::NONE && !exited.is_empty() {
        feed.details(&mut exited, needs.of_exited());
    }
    let mut living: Vec<&mut Row> = rows.iter_mut().filter(|r| r.kind != RowKind::Exited).collect();
    if needs != Needs::NONE && !living.is_empty() {
        feed.details(&mut living, needs);
    }
}

impl Selection {
    /// True if all active rows are requested.
    fn is_all(&self) -> bool {
        self.pids.is_empty() && self.user.is_none() && self.filters.is_empty()
    }

    fn has(&self, row: &Row) -> bool {
        self.has_pid(row) && self.has_user(row) && !(self.hide_idle && is_idle(row))
    }

    fn has_pid(&self, row: &Row) -> bool {
        let pid = match row.kind {
            RowKind::Exited => row.ident.ppid,
            RowKind::Process => row.key.tgid,
            RowKind::Task => row.key.tid,
        };
        let of_process = row.kind == RowKind::Task && self.pids.contains(&row.key.tgid);
        self.pids.is_empty() || self.pids.contains(&pid) || of_process
    }

    /// An exited group without a known user matches no user.
    fn has_user(&self, row: &Row) -> bool {
        let wanted = |user: User| row.uid().is_some_and(|uid| (uid == user.uid) != user.others);
        self.user.is_none_or(wanted)
    }
}

/// True if the row used no CPU time in the window, nor did its exited descendants. An unknown
/// figure is not idle.
fn is_idle(row: &Row) -> bool {
    let nothing = |ns: Option<u64>| ns == Some(0);
    nothing(row.delta.get(Counter::RunNs))
        && row.children.is_none_or(|c| nothing(c.get(Counter::RunNs)))
}
