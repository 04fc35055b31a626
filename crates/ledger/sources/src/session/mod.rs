//! A session combines a source, the book and the readers of details into one frame per window.

mod building;
mod held_back;
pub mod memory;
mod opening;
mod own_programs;
mod row_details;
mod since_boot;
#[cfg(test)]
mod tests;
mod watched;

pub use opening::{open, open_instead, source, Choice};
pub use own_programs::OwnPrograms;
pub use watched::{Attached, Attaches};

use crate::cgroups::GroupsBeside;
use crate::error::SourceError;
use crate::group_names::GroupNames;
use crate::leader_names::LeaderNames;
use crate::procfs::ticks::own_cpu_ns;
use crate::source::{FollowedProcess, Request, Source};
use crate::system::SystemReader;
use exactop_model::ledger::pooling::{Pooling, Pools};
use exactop_model::ledger::snapshot::ProcessRef;
use exactop_model::on_demand::waits::WaitWindow;
use exactop_model::{
    Ask, Book, Degraded, Feed, Frame, Missing, Needs, Provenance, Row, RowKind, Tap, Window,
};
use row_details::RowDetails;
use std::sync::Arc;
use watched::WatchedProcess;

/// A feed of frames from one source.
pub struct Session {
    source: Box<dyn Source>,
    book: Book,
    details: RowDetails,
    system: SystemReader,
    window: Option<Window>,
    watched: WatchedProcess,
    groups: GroupsBeside,
    names: GroupNames,
    leader_names: LeaderNames,
    /// The tap that gets everything.
    tap: Option<Box<dyn Tap>>,
    /// The tap that keeps the last windows. For it alone, the session measures nothing more.
    memory: Option<Box<dyn Tap>>,
    /// Decides when freed memory goes back to the kernel.
    spare: memory::Spare,
    /// Pools rows when memory is short.
    pooling: Pooling,
    /// Detail that is given up for want of memory.
    degraded: Degraded,
}

impl Session {
    /// The source and the quality of its figures.
    pub fn provenance(&self) -> &Provenance {
        self.source.provenance()
    }

    /// The last closed window, for callers that need more than a frame.
    pub fn window(&self) -> Option<&Window> {
        self.window.as_ref()
    }

    /// All tasks and exited groups as of the last snapshot.
    pub fn book(&self) -> &Book {
        &self.book
    }

    /// Follows the descendants of these processes from the next window on ([`Source::follow`]).
    ///
    /// # Errors
    /// The source cannot follow descendants.
    pub fn follow(&mut self, followed: &[FollowedProcess]) -> Result<(), SourceError> {
        self.source.follow(followed)
    }

    /// Drops this detail from the next window on, and returns the freed memory to the kernel. The
    /// windows name what they lack.
    pub fn degrade(&mut self, degraded: Degraded) {
        self.degraded = degraded;
        self.pooling.set(Pools { brief: degraded.brief, threads: degraded.threads });
        self.spare.give_back_next();
    }

    /// Closes the window that has been open since the call before, and drops the details read in
    /// it. Returns `false` if this call only opened the first window.
    pub fn advance(&mut self, request: &Request) -> Result<bool, SourceError> {
        // Read the header's ticks right before the source's instant: both then cover the same
        // window, even if the source takes long to read its tasks.
        let looks = request.needs.has(Needs::PRESSURE);
        if !looks {
            self.system.leave_pressure();
        }
        let system = match request.needs.has(Needs::MACHINE) || self.tap.is_some() {
            true if looks => self.system.read_with_pressure(),
            true => self.system.read(),
            false => self.system.read_uptime(),
        };
        if request.needs.has(Needs::NAMES) || self.tap.is_some() {
            self.names.want();
        }
        let mut snapshot = self.source.snapshot(request)?;
        // Drop the last window first. It may be as large as the next one, and in a storm of births
        // the two are most of the memory.
        self.window = None;
        if self.source.has_begun_anew() {
            self.begin_anew();
        }
        self.pooling.take(&mut snapshot, &self.book);
        let degraded = &mut snapshot.provenance.degraded;
        *degraded = Degraded::in_either(*degraded, Some(self.degraded));
        self.names.tell(&mut snapshot);
        self.leader_names.tell(&mut snapshot, &self.book);
        snapshot.system = system;
        snapshot.cost.user_ns = own_cpu_ns();
        if let Some(tap) = &mut self.tap {
            tap.snapshot(&snapshot, &self.book);
        }
        if let Some(memory) = &mut self.memory {
            memory.snapshot(&snapshot, &self.book);
        }
        self.window = self.book.advance(snapshot);
        let began = request.watch.and_then(|pid| self.process(pid)).map_or(0, |of| of.start_ns);
        self.watched.advance(request, began, self.source.provenance().source);
        let told =
            request.watch.zip(self.watched.last_window::<WaitWindow>()).zip(self.tap.as_mut());
        if let Some(((tgid, waits), tap)) = told {
            tap.waits(tgid, &waits);
        }
        self.details.window_closed(self.window.as_ref());
        self.spare.after_look();
        Ok(self.window.is_some())
    }

    /// The process with this number in the book.
    fn process(&self, tgid: u32) -> Option<ProcessRef> {
        let head = self.book.process(tgid)?.head()?;
        Some(ProcessRef { tgid, start_ns: self.book.task(head)?.key.start_ns })
    }

    /// The source restarted: no window may span the restart.
    fn begin_anew(&mut self) {
        self.book = Book::new();
        self.watched.forget();
        self.groups = GroupsBeside::default();
        self.details.begin_anew();
    }

    /// Fills in the details of one row: cached ones, and the rest by reading.
    fn detail(&mut self, row: &mut Row, needs: Needs) {
        let now_ns = self.window.as_ref().map_or(0, |window| window.t1_ns);
        self.details.fill(row, needs, now_ns);
    }

    /// Fills in the owner of a row's control group: from the book, or else by the path of the
    /// process's group.
    fn name(&mut self, row: &mut Row) {
        let told = row.ident.cgroup_id.and_then(|id| self.book.group(id));
        row.detail.named = match told {
            Some(group) => {
                row.detail.cgroup = Ok(group.path.clone());
                Ok(Arc::clone(&group.named))
            }
            None if row.kind == RowKind::Exited => Err(Missing::Vanished),
            None => {
                self.detail(row, Needs::CGROUP);
                row.detail.cgroup.as_ref().map(|path| self.names.of_path(path)).map_err(|&why| why)
            }
        };
    }

    /// Name of a user, which the tap gets, too.
    fn name_user(&mut self, uid: u32) -> String {
        let name = self.details.user(uid);
        self.tap.iter_mut().for_each(|tap| tap.user(uid, &name));
        name
    }
}

impl Feed for Session {
    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        let of_groups = ask.options.by.filter(|by| by.is_of_group());
        let names = of_groups.map_or(Needs::NONE, |_| Needs::NAMES);
        let needs = ask.needs | names;
        let request =
            Request { needs, watch: ask.watch, interval_ns: ask.interval_ns, ..Request::default() };
        self.advance(&request).map_err(|error| error.to_string())?;
        let source = self.provenance().source;
        match self.window.as_ref().filter(|_| ask.groups) {
            Some(window) => self.groups.advance(window, &self.book, source),
            None => self.groups.leave(),
        }
        if let Some(([before, after], tap)) = self.groups.ends().zip(self.tap.as_mut()) {
            tap.groups(before, after);
        }
        Ok(self.same_frame(ask))
    }

    fn same_frame(&mut self, ask: &Ask) -> Option<Frame> {
        let mut frame = Frame::new(self.window.as_ref()?, &self.book, &ask.options);
        let process = ask.watch.and_then(|pid| self.process(pid));
        self.watched.tell(&mut frame, process, ask.needs);
        frame.groups = if ask.groups { self.groups.shown() } else { None };
        if let Some(sums) = &mut frame.sums {
            sums.name_users(|uid| Some(self.name_user(uid)));
            if let Some(Ok(groups)) = &frame.groups {
                sums.beside(groups, &self.book);
            }
        }
        self.name_held_back(&mut frame);
        Some(frame)
    }

    fn details(&mut self, rows: &mut [&mut Row], needs: Needs) {
        for row in rows {
            let is_exited = row.kind == RowKind::Exited;
            match is_exited {
                true => self.details.fill_exited(row, needs),
                false => self.detail(row, needs),
            }
            if needs.has(Needs::NAMES) {
                self.name(row);
            }
            match (is_exited, self.tap.as_mut()) {
                (false, Some(tap)) => tap.details(row),
                (true, Some(tap)) => {
                    let named = row.uid().zip(row.detail.user.as_ref().ok());
                    named.into_iter().for_each(|(uid, name)| tap.user(uid, name));
                }
                (_, None) => {}
            }
            // Also for a task that exited before its path was read.
            if needs.has(Needs::CGROUP) {
                row.name_group(&self.book);
            }
        }
    }

    fn forget_details(&mut self) {
        self.details.forget();
    }

    fn user(&mut self, uid: u32) -> Option<String> {
        Some(self.name_user(uid))
    }
}
