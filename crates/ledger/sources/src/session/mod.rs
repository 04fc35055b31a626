//! A source, the book and the readers of details put together: frames, one window after the other.

mod held_back;
pub mod memory;
mod own_programs;
mod since_boot;
#[cfg(test)]
mod tests;
mod watched;

use crate::cgroups::GroupsBeside;
use crate::details::{Details, Held, OpenFiles};
use crate::error::SourceError;
use crate::group_names::GroupNames;
use crate::procfs::ticks::own_cpu_ns;
use crate::procfs::Procfs;
use crate::source::{Followed, Request, Source, SplitOptions};
use crate::system::SystemReader;
use crate::taskstats::Taskstats;
use exactop_model::ledger::snapshot::ProcessRef;
use exactop_model::{
    Ask, Book, Detail, Feed, Frame, Ident, Missing, Needs, Provenance, Row, RowKind, Tap, TaskKey,
    Window,
};
pub use own_programs::Own;
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::Path;
use std::sync::Arc;
use watched::Watched;
pub use watched::{Attaches, Looks, Subject};

/// The needs that are details of a row; the others are the source's.
const DETAILS: [Needs; 5] = [Needs::STAT, Needs::STATM, Needs::CMDLINE, Needs::USER, Needs::CGROUP];

/// Which source to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Choice {
    /// The first of the others that works here, in their order; the provenance says why not the
    /// ledger.
    #[default]
    Auto,
    /// The ledger or nothing.
    Ledger,
    /// The task iterator or nothing.
    Snapshot,
    /// Taskstats or nothing.
    Taskstats,
    /// /proc.
    Procfs,
}

/// Opens a session on this machine.
///
/// # Errors
/// `Auto` and `Procfs`: when /proc cannot be read. The others: what they could not get.
pub fn open(choice: Choice, split: SplitOptions) -> Result<Session, SourceError> {
    Session::new(source(choice, split)?, Path::new("/proc"))
}

/// Opens `Auto` where something better was refused: why, is told first where it is not the ledger that works.
///
/// # Errors
/// As [`open`].
pub fn open_instead(refused: &str, split: SplitOptions) -> Result<Session, SourceError> {
    Session::new(automatic(Some(refused), split)?, Path::new("/proc"))
}

/// Opens a source of this machine.
///
/// # Errors
/// As [`open`].
pub fn source(choice: Choice, split: SplitOptions) -> Result<Box<dyn Source>, SourceError> {
    match choice {
        Choice::Procfs => Ok(Box::new(Procfs::open(Path::new("/proc"))?)),
        Choice::Taskstats => Ok(Box::new(Taskstats::open()?)),
        Choice::Ledger => ledger(split),
        Choice::Snapshot => iterated(None),
        Choice::Auto => automatic(None, split),
    }
}

/// The first that works; of the others it tells why not the ledger, and why not what is better still.
fn automatic(refused: Option<&str>, split: SplitOptions) -> Result<Box<dyn Source>, SourceError> {
    let why = match ledger(split) {
        Ok(source) => return Ok(source),
        Err(why) => why.to_string(),
    };
    let why = refused.map_or_else(|| why.clone(), |refused| format!("{refused}; {why}"));
    if let Ok(source) = iterated(Some(&why)) {
        return Ok(source);
    }
    if let Ok(source) = Taskstats::open() {
        return Ok(Box::new(source.because(&why)));
    }
    Ok(Box::new(Procfs::open(Path::new("/proc"))?.because(&why)))
}

#[cfg(feature = "bpf")]
fn ledger(split: SplitOptions) -> Result<Box<dyn Source>, SourceError> {
    use crate::ledger::{Ledger, Options};
    Ok(Box::new(Ledger::open(&Options { split, ..Options::default() })?))
}

#[cfg(feature = "bpf")]
fn iterated(why: Option<&str>) -> Result<Box<dyn Source>, SourceError> {
    let spare = crate::bpf::spare::Spare::hold()?;
    let source = crate::snapshot_source::SnapshotSource::open()?;
    drop(spare);
    Ok(Box::new(match why {
        Some(why) => source.because(why),
        None => source,
    }))
}

#[cfg(not(feature = "bpf"))]
fn ledger(_: SplitOptions) -> Result<Box<dyn Source>, SourceError> {
    Err(SourceError::without_bpf())
}

#[cfg(not(feature = "bpf"))]
fn iterated(_: Option<&str>) -> Result<Box<dyn Source>, SourceError> {
    Err(SourceError::without_bpf())
}

/// How long details of a process that did nothing are kept. Without it doing anything only others
/// can change them: the kernel by reclaiming its memory, or someone who moves it to another cgroup
/// or gives it another priority.
const KEPT_NS: u64 = 10_000_000_000;

/// What was read for a row.
#[derive(Default)]
struct Read {
    needs: Needs,
    detail: Detail,
    /// As read with the detail: what a ledger does not hear of while the task sleeps.
    ident: Option<Ident>,
    /// End of the window it was read in.
    at_ns: u64,
    /// End of the window it was last asked for in.
    used_ns: u64,
    open: OpenFiles,
}

/// A feed of frames from one source.
pub struct Session {
    source: Box<dyn Source>,
    book: Book,
    details: Details,
    system: SystemReader,
    window: Option<Window>,
    /// By what the key stands for: a thread, or else a process.
    read: FxHashMap<(bool, TaskKey), Read>,
    /// The descriptors they keep open.
    held: Held,
    watched: Watched,
    groups: GroupsBeside,
    names: GroupNames,
    /// Who is told of everything, too.
    tap: Option<Box<dyn Tap>>,
    /// Who keeps the last windows, and wants nothing for that which is not measured anyway.
    memory: Option<Box<dyn Tap>>,
    /// Memory that goes back in time.
    spare: memory::Spare,
}

impl Session {
    /// A session on a source; `root` is where /proc is, for details and the header.
    ///
    /// # Errors
    /// [`SourceError::Read`] when `root` cannot be opened.
    pub fn new(source: Box<dyn Source>, root: &Path) -> Result<Session, SourceError> {
        let details = Details::open(root)?;
        Ok(Session::with_readers(source, details, SystemReader::open(root)))
    }

    /// A session with readers of one's own, for tests on a made-up machine.
    pub fn with_readers(
        source: Box<dyn Source>,
        details: Details,
        system: SystemReader,
    ) -> Session {
        Session {
            source,
            book: Book::new(),
            details,
            system,
            window: None,
            read: FxHashMap::default(),
            held: Held::default(),
            watched: Watched::by(Box::new(Own)),
            groups: GroupsBeside::default(),
            names: GroupNames::default(),
            tap: None,
            memory: None,
            spare: memory::Spare::default(),
        }
    }

    /// Whoever is to be told of everything from the first snapshot on. It wants to know of the
    /// machine, whatever is on the screen.
    pub fn tapped(mut self, tap: Box<dyn Tap>) -> Session {
        self.tap = Some(tap);
        self
    }

    /// Whoever is to be told of every snapshot, and is no reason to measure anything.
    pub fn remembered(mut self, memory: Box<dyn Tap>) -> Session {
        self.memory = Some(memory);
        self
    }

    /// Names of control groups are wanted from now on. Whoever knows that beforehand says so while it
    /// has all of its rights: what looks at groups that are made comes before others then.
    pub fn name_groups(&mut self) {
        self.names.want();
    }

    /// The source tells names with its snapshots: none is looked for here.
    pub fn names_are_told(&mut self) {
        self.names.leave_to_source();
    }

    /// Programs for the process that is watched are attached by this from now on.
    pub fn look_by(&mut self, attaches: Box<dyn Attaches>) {
        self.watched = Watched::by(attaches);
    }

    /// Who measures and how good the figures are.
    pub fn provenance(&self) -> &Provenance {
        self.source.provenance()
    }

    /// The window closed last, for callers that want more than a frame of it.
    pub fn window(&self) -> Option<&Window> {
        self.window.as_ref()
    }

    /// Everything known of everyone as of the last snapshot.
    pub fn book(&self) -> &Book {
        &self.book
    }

    /// Has descendants of these followed from the next window on ([`Source::follow`]).
    ///
    /// # Errors
    /// The source follows nobody.
    pub fn follow(&mut self, followed: &[Followed]) -> Result<(), SourceError> {
        self.source.follow(followed)
    }

    /// Closes the window that has been open since the call before, and forgets the details read
    /// in it. `false`: this call only opened the first window.
    ///
    /// # Errors
    /// What the source could not read.
    pub fn advance(&mut self, request: &Request) -> Result<bool, SourceError> {
        // The header's ticks right before the source's instant, so that they tell of the same
        // window; how long the source takes to collect its tasks does not matter then.
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
        // The window before is as large as the next one: in a storm of births the two are most of what is held.
        self.window = None;
        if self.source.has_begun_anew() {
            self.begin_anew();
        }
        self.names.tell(&mut snapshot);
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
        let told = request.watch.zip(self.watched.waits()).zip(self.tap.as_mut());
        if let Some(((tgid, waits), tap)) = told {
            tap.waits(tgid, &waits);
        }
        self.forget_details();
        self.spare.looked();
        Ok(self.window.is_some())
    }

    /// A process that the book knows.
    fn process(&self, tgid: u32) -> Option<ProcessRef> {
        let head = self.book.process(tgid)?.head()?;
        Some(ProcessRef { tgid, start_ns: self.book.task(head)?.key.start_ns })
    }

    /// What comes is of another ledger: no window spans the two.
    fn begin_anew(&mut self) {
        self.book = Book::new();
        self.watched.forget();
        self.groups = GroupsBeside::default();
        for (_, read) in self.read.drain() {
            self.held.changed(read.open.open(), 0);
        }
    }

    /// Forgets what was read for processes that did something since, and what is old. A source
    /// that looks at everyone cannot tell who did nothing: then all is forgotten. The files of
    /// rows that are still looked at stay open.
    fn forget_details(&mut self) {
        let Some(window) = &self.window else { return self.read.clear() };
        let complete = window.end.complete;
        let active: FxHashSet<u32> = match complete {
            true => FxHashSet::default(),
            false => window.tasks.iter().map(|t| t.sample.key.tgid).collect(),
        };
        let t1_ns = window.t1_ns;
        let held = &mut self.held;
        self.read.retain(|(_, key), read| {
            let is_old = t1_ns.saturating_sub(read.at_ns) >= KEPT_NS;
            if complete || is_old || active.contains(&key.tgid) {
                read.forget();
            }
            let used = t1_ns.saturating_sub(read.used_ns) < KEPT_NS;
            if !used {
                held.changed(read.open.open(), 0);
            }
            used
        });
        // What a storm took is given back, where it is much.
        if self.read.capacity() > (8 * self.read.len()).max(4096) {
            self.read.shrink_to(2 * self.read.len());
        }
    }

    /// Details of one row: what is kept of it, the rest read now.
    fn detail(&mut self, row: &mut Row, needs: Needs) {
        let now_ns = self.window.as_ref().map_or(0, |w| w.t1_ns);
        let read = self.read.entry((row.kind == RowKind::Task, row.key)).or_default();
        read.used_ns = now_ns;
        let missing = DETAILS
            .into_iter()
            .filter(|&n| needs.has(n) && !read.needs.has(n))
            .fold(Needs::NONE, Needs::with);
        row.detail = std::mem::take(&mut read.detail);
        if missing != Needs::NONE {
            if read.needs == Needs::NONE {
                read.at_ns = now_ns;
            }
            let before = read.open.open();
            let keep = before > 0 || self.held.has_room();
            self.details.fill_one(row, missing, &mut read.open, keep);
            self.held.changed(before, read.open.open());
            read.needs = read.needs | missing;
            if missing.has(Needs::STAT) || missing.has(Needs::STATM) {
                read.ident = Some(row.ident);
            }
        } else if let Some(then) = read.ident {
            let Ident { ppid, nice, prio, policy, .. } = then;
            row.ident = Ident { ppid, nice, prio, policy, ..row.ident };
        }
        read.detail = row.detail.clone();
    }
}

impl Session {
    /// Whose a row's control group is: as it was told, else by the path of the process's.
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
}

impl Read {
    /// What was read may have changed; the files stay open.
    fn forget(&mut self) {
        self.needs = Needs::NONE;
        self.detail = Detail::default();
        self.ident = None;
    }
}

impl Feed for Session {
    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        let of_groups = ask.options.by.filter(|by| by.is_of_group());
        let names = of_groups.map_or(Needs::NONE, |_| Needs::NAMES);
        let needs = ask.needs | names;
        let request = Request { needs, watch: ask.watch, interval_ns: ask.interval_ns };
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
            sums.name_users(|uid| Some(self.details.user(uid)));
            if let Some(Ok(groups)) = &frame.groups {
                sums.beside(groups, &self.book);
            }
        }
        self.name_held_back(&mut frame);
        Some(frame)
    }

    fn details(&mut self, rows: &mut [&mut Row], needs: Needs) {
        for row in rows {
            // Exited groups share one key, but there is nothing to read for them either.
            match row.kind {
                RowKind::Exited => {
                    self.details.fill(&mut [row], needs);
                    if needs.has(Needs::NAMES) {
                        self.name(row);
                    }
                }
                _ => {
                    self.detail(row, needs);
                    if needs.has(Needs::NAMES) {
                        self.name(row);
                    }
                    if let Some(tap) = &mut self.tap {
                        tap.details(row);
                    }
                }
            }
            // Also where a task ended before its path could be read, as a replay does.
            if needs.has(Needs::CGROUP) {
                row.name_group(&self.book);
            }
        }
    }

    fn forget_details(&mut self) {
        self.read.values_mut().for_each(Read::forget);
    }

    fn user(&mut self, uid: u32) -> Option<String> {
        Some(self.details.user(uid))
    }
}
