//! Which rows and columns are wanted, and a frame arranged accordingly.

use exactop_model::columns::filter::Filter;
use exactop_model::columns::sort::{self, SortBy};
use exactop_model::columns::{self, Context};
use exactop_model::{Ask, Column, Counter, Feed, Frame, FrameOptions, Needs, Row, RowKind, Still};

/// Whose rows are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// This effective user's,
    pub uid: u32,
    /// or those of everyone else.
    pub others: bool,
}

/// Which rows are wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Only these processes, or these threads where rows are threads, and the groups of exited
    /// tasks they are the nearest living ancestor of. Empty: all.
    pub pids: Vec<u32>,
    /// Only those of one effective user, or of all others.
    pub user: Option<User>,
    /// Leave out what used no CPU time in the window.
    pub hide_idle: bool,
    /// Expressions that must all hold.
    pub filters: Vec<Filter>,
}

/// What a view wants of every window.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The columns, in order.
    pub columns: Vec<&'static Column>,
    /// The order of rows.
    pub sort: SortBy,
    /// One row a thread.
    pub threads: bool,
    /// Command lines instead of command names.
    pub command_line: bool,
    /// Which rows.
    pub selection: Selection,
    /// Only rows that did something, or whose children did, are looked at: none is made for the
    /// others.
    pub only_active: bool,
}

/// A frame ready to be printed: rows selected, sorted and with their details.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub struct Page {
    /// The frame; its rows have moved to the two lists below.
    pub frame: Frame,
    /// What the values of columns depend on beside the row.
    pub context: Context,
    pub columns: Vec<&'static Column>,
    /// Tasks or processes, in order.
    pub rows: Vec<Row>,
    /// Exited groups, in order.
    pub exited: Vec<Row>,
    /// The order they are in.
    pub sort: SortBy,
    /// Rows are threads.
    pub threads: bool,
    /// Nobody was left out, but rows that did nothing.
    pub is_whole: bool,
}

impl Plan {
    /// What to ask the feed for.
    pub fn ask(&self) -> Ask {
        let hide = self.selection.hide_idle || self.only_active;
        let still = if hide { Still::Hide } else { Still::All };
        let options = FrameOptions { threads: self.threads, still, ..FrameOptions::default() };
        let rows = if self.threads { Needs::THREADS } else { Needs::NONE };
        Ask {
            options,
            needs: rows | self.choosing_needs() | self.showing_needs(),
            ..Ask::default()
        }
    }

    /// What must be known of every row before any can be left out.
    fn choosing_needs(&self) -> Needs {
        let filters = self.selection.filters.iter().map(|f| f.column());
        let user = if self.selection.user.is_some() { Needs::USER } else { Needs::NONE };
        columns::needs(filters.chain([self.sort.column]), self.command_line) | user
    }

    fn showing_needs(&self) -> Needs {
        columns::needs(self.columns.iter().copied(), self.command_line)
    }

    /// Selects and sorts the rows of a frame and has the details of those that stay read.
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

/// Exited tasks have nothing left to read but whose their control group is.
fn read(feed: &mut dyn Feed, rows: &mut [Row], needs: Needs) {
    if needs.has(Needs::NAMES) {
        let exited = rows.iter_mut().filter(|r| r.kind == RowKind::Exited);
        feed.details(&mut exited.collect::<Vec<_>>(), Needs::NAMES);
    }
    let mut living: Vec<&mut Row> = rows.iter_mut().filter(|r| r.kind != RowKind::Exited).collect();
    if needs != Needs::NONE && !living.is_empty() {
        feed.details(&mut living, needs);
    }
}

impl Selection {
    /// Whether everyone who did something is wanted.
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

    /// An exited group of which nobody told whose it was is nobody's.
    fn has_user(&self, row: &Row) -> bool {
        let wanted = |user: User| row.uid().is_some_and(|uid| (uid == user.uid) != user.others);
        self.user.is_none_or(wanted)
    }
}

/// No CPU time in the window, neither its own nor that of exited descendants. Not known is not
/// idle.
fn is_idle(row: &Row) -> bool {
    let nothing = |ns: Option<u64>| ns == Some(0);
    nothing(row.delta.get(Counter::RunNs))
        && row.children.is_none_or(|c| nothing(c.get(Counter::RunNs)))
}
