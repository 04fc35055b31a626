//! A recording as a feed of frames, with the same book and the same frames as the live source.

use crate::error::RecordingError;
use crate::frame::Span;
use crate::gap::Gap;
use crate::index::{FrameAt, Index, RecordingPosition};
use crate::parts::Recording;
use crate::reader::{Reader, Recorded, Step};
use crate::rows::{DetailKey, Details, Facts, GroupFiles, PageData};
use exactop_model::ledger::joined::Joined;
use exactop_model::on_demand::waits::WaitWindow;
use exactop_model::on_demand::{Subject, SubjectWindow};
use exactop_model::{
    AccountId, Ask, Book, Detail, Feed, Frame, Ident, Missing, Needs, Row, RowKind, Snapshot,
    Window,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Needs that are read from files of the row's process. Their details come with parent and
/// priority.
const FILES: [Needs; 4] = [Needs::STAT, Needs::STATM, Needs::CMDLINE, Needs::CGROUP];

/// Why figures that are measured on demand are missing.
const NOT_RECORDED: &str = "measured only while displayed, and not displayed all this time";
/// Why figures that recordings cannot hold are missing.
const NEVER_RECORDED: &str = "counted only while displayed, and not recorded";

/// Windows of a recording, in order.
#[derive(Debug)]
pub struct Replay {
    reader: Reader,
    book: Book,
    /// All tasks for the next book, until its first window; until then the last window is shown.
    opened: Option<Snapshot>,
    /// The gap that holds the requested time.
    missed: Option<Gap>,
    window: Option<Window>,
    span: Option<Span>,
    at: Option<RecordingPosition>,
    details: Details,
    page: PageData,
}

/// Result of [`Replay::forward`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayStep {
    /// At the end of the next window.
    Window,
    /// Past time that is not recorded.
    Gap(Gap),
    /// At the end of the recording: nothing moved.
    End,
}

impl Replay {
    /// Starts where the reader is.
    pub fn new(reader: Reader) -> Replay {
        Replay {
            reader,
            book: Book::new(),
            opened: None,
            missed: None,
            window: None,
            span: None,
            at: None,
            details: Details::default(),
            page: PageData::default(),
        }
    }

    /// Goes to the next window, or past the next gap.
    ///
    /// # Errors
    /// [`RecordingError`]: a file has become unreadable.
    pub fn forward(&mut self) -> Result<ReplayStep, RecordingError> {
        loop {
            match self.reader.step()? {
                None => return Ok(ReplayStep::End),
                Some(Step::Gap(gap)) => return Ok(ReplayStep::Gap(gap)),
                Some(Step::Opened(whole)) => self.open(*whole),
                Some(Step::Window(recorded)) => {
                    self.pass(*recorded);
                    if self.window.is_some() {
                        return Ok(ReplayStep::Window);
                    }
                }
            }
        }
    }

    /// Starts a new book with the next window.
    pub(crate) fn open(&mut self, whole: Snapshot) {
        self.opened = Some(whole);
    }

    fn begin(&mut self) {
        if let Some(whole) = self.opened.take() {
            self.book = Book::new();
            self.book.advance(whole);
        }
    }

    /// Goes to the end of a window.
    pub(crate) fn pass(&mut self, recorded: Recorded) {
        self.begin();
        self.window = self.book.advance(recorded.snapshot);
        self.span = Some(recorded.span);
        self.at = Some(recorded.at);
        self.details = recorded.details;
        self.page = recorded.page;
    }

    /// Goes to the end of a window and joins it to the windows before; `first`: there are none.
    pub(crate) fn join(&mut self, recorded: Recorded, joined: &mut Joined, first: bool) {
        self.begin();
        joined.before(&recorded.snapshot, &self.book);
        let read = if first { Details::default() } else { std::mem::take(&mut self.details) };
        let page = std::mem::take(&mut self.page);
        self.pass(recorded);
        if !first {
            self.page = page.and(std::mem::take(&mut self.page));
        }
        // Later details replace earlier ones.
        self.details = read.into_iter().chain(std::mem::take(&mut self.details)).collect();
        if let Some(window) = self.window.take() {
            joined.add(window, &self.book);
        }
    }

    /// Shows the joined windows; returns false if there are none.
    pub(crate) fn show(&mut self, joined: Joined) -> bool {
        self.window = joined.window();
        self.window.is_some()
    }

    pub(crate) fn step(&mut self) -> Result<Option<Step>, RecordingError> {
        self.reader.step()
    }

    pub(crate) fn go_to(
        &mut self,
        at: RecordingPosition,
        keyframe: FrameAt,
    ) -> Result<(), RecordingError> {
        self.reader.go_to(at, Some(keyframe))
    }

    pub(crate) fn follow(&mut self) -> Result<bool, RecordingError> {
        self.reader.follow()
    }

    pub(crate) fn index(&mut self) -> (&mut Index, &Recording) {
        self.reader.index()
    }

    /// Seeks to the window that holds a time (ns since the epoch), or to the first after it.
    /// Returns false if there is none, and stays at the last window.
    ///
    /// # Errors
    /// [`RecordingError`]: a file cannot be read.
    pub fn seek(&mut self, wall_ns: i128) -> Result<bool, RecordingError> {
        self.reader.seek(wall_ns)?;
        self.missed = None;
        loop {
            match self.forward()? {
                ReplayStep::End => return Ok(false),
                ReplayStep::Gap(gap) if (gap.from_wall_ns..gap.to_wall_ns).contains(&wall_ns) => {
                    self.missed = Some(gap);
                }
                ReplayStep::Gap(_) => {}
                ReplayStep::Window if self.ends_wall_ns() > Some(wall_ns) => return Ok(true),
                ReplayStep::Window => {}
            }
        }
    }

    /// The gap that holds the time of the last seek; `None` if that time is recorded or outside the
    /// recording.
    pub fn missed(&self) -> Option<&Gap> {
        self.missed.as_ref()
    }

    /// The current window.
    pub fn window(&self) -> Option<&Window> {
        self.window.as_ref()
    }

    /// The book at the current window's end.
    pub fn book(&self) -> &Book {
        &self.book
    }

    /// Time of the current window.
    pub fn span(&self) -> Option<Span> {
        self.span
    }

    /// Position of the current window.
    pub(crate) fn at(&self) -> Option<RecordingPosition> {
        self.at
    }

    /// Number of the current window's file; `None` if its name has none.
    pub fn file(&self) -> Option<u64> {
        self.reader.recording().parts().get(self.at?.part)?.number()
    }

    /// End of the current window, ns since the epoch.
    pub fn ends_wall_ns(&self) -> Option<i128> {
        self.span.map(|span| span.wall_t1_ns())
    }

    /// PID and waits of the process whose page was open in the current window, or why they are
    /// unknown.
    pub fn waits(&self) -> Option<(u32, &Result<WaitWindow, String>)> {
        self.page.waits.as_ref().map(|waited| (waited.tgid, &waited.waits))
    }

    /// Values of the kernel's files of control groups at both ends of the window, if a live view
    /// displayed them.
    pub(crate) fn group_files(&self) -> Option<&GroupFiles> {
        self.page.groups.as_ref()
    }

    fn waits_of(&self, tgid: u32) -> Result<WaitWindow, String> {
        let told = self.waits().filter(|(of, _)| *of == tgid);
        told.map_or_else(|| Err(NOT_RECORDED.into()), |(_, waits)| waits.clone())
    }

    /// The reader.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Details of the process whose leader has this account: read in this window, or earlier and
    /// still valid.
    pub fn known(&self, leader: AccountId) -> Option<Detail> {
        let key = DetailKey { is_task: false, account: leader.0 };
        let facts = self.details.get(&key).cloned().or_else(|| self.reader.lasting(key));
        facts.map(|facts| facts.detail)
    }

    /// Names that users of sums and of exited groups have in the current window.
    pub fn users(&self) -> impl Iterator<Item = (u32, &str)> {
        self.page.users.iter().map(|(&uid, name)| (uid, name.as_str()))
    }

    /// Name of a user: as recorded for the window, or as read for any of the user's processes.
    pub fn user(&self, uid: u32) -> Option<String> {
        if let Some(name) = self.page.users.get(&uid) {
            return Some(name.clone());
        }
        let leaders = self.book.processes().filter_map(|(_, process)| process.leader);
        let theirs = leaders.filter(|&a| self.book.task(a).is_some_and(|t| t.ident.uid == uid));
        theirs.filter_map(|account| self.known(account)?.user.ok()).next()
    }

    fn fill(&self, row: &mut Row, needs: Needs) {
        let Some(key) = DetailKey::from_row(row) else { return refuse(&mut row.detail) };
        let read = self.details.get(&key);
        let Some(facts) = read.cloned().or_else(|| self.reader.lasting(key)) else { return };
        let Facts { detail, ppid, nice, prio, policy } = facts;
        row.detail = detail;
        if read.is_some() && FILES.iter().any(|&file| needs.has(file)) {
            row.ident = Ident { ppid, nice, prio, policy, ..row.ident };
        }
    }
}

/// Marks details as not applicable: exited tasks have no files.
fn refuse(detail: &mut Detail) {
    let not = Missing::NotApplicable;
    *detail = Detail {
        virt: Err(not),
        res: Err(not),
        shr: Err(not),
        time_ns: Err(not),
        cmdline: Err(not),
        user: Err(not),
        cgroup: Err(not),
        named: Err(not),
        disk: Err(not),
    };
}

impl Feed for Replay {
    /// The frame of the next window, past gaps; at the end the last frame again.
    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        while let ReplayStep::Gap(_) = self.forward().map_err(|error| error.to_string())? {}
        Ok(self.same_frame(ask))
    }

    fn same_frame(&mut self, ask: &Ask) -> Option<Frame> {
        let mut frame = Frame::new(self.window.as_ref()?, &self.book, &ask.options);
        frame.subjects = ask.refused(NEVER_RECORDED);
        let waits = ask.watch.map(|tgid| self.waits_of(tgid).map(SubjectWindow::Waits));
        frame.subjects.tell(Subject::Waits, waits);
        frame.groups = ask.groups.then(|| self.groups()).flatten();
        if let Some(sums) = &mut frame.sums {
            sums.name_users(|uid| self.user(uid));
        }
        Some(frame)
    }

    fn user(&mut self, uid: u32) -> Option<String> {
        Replay::user(self, uid)
    }

    fn details(&mut self, rows: &mut [&mut Row], needs: Needs) {
        let mut users: FxHashMap<u32, String> = FxHashMap::default();
        for row in rows {
            match row.kind {
                RowKind::Exited => {
                    refuse(&mut row.detail);
                    if let Some(uid) = row.uid().filter(|_| needs.has(Needs::USER)) {
                        let name = || self.user(uid).unwrap_or_else(|| uid.to_string());
                        row.detail.user = Ok(users.entry(uid).or_insert_with(name).clone());
                    }
                }
                _ => self.fill(row, needs),
            }
            if needs.has(Needs::CGROUP) {
                row.name_group(&self.book);
            }
            if needs.has(Needs::NAMES) {
                if let Some(group) = row.ident.cgroup_id.and_then(|id| self.book.group(id)) {
                    row.detail.named = Ok(Arc::clone(&group.named));
                    row.detail.cgroup = Ok(group.path.clone());
                }
            }
        }
    }
}
