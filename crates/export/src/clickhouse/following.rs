//! A log that somebody goes on writing, as far as it is in a store. The log is the spool: it is on the disk already and has a
//! bound. What it lost before it was sent is told, with its time.

use super::courier::Courier;
use super::cursor::{Cursor, Position};
use super::{Client, Sending, Sent};
use crate::ExportError;
use exactop_recording::{Moved, Reader, Recording, RecordingError, Replay, Why};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// News that nobody took; of more the last ones are kept.
const NEWS: usize = 100;

/// Something that whoever runs it should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// The store takes nothing: why.
    Away(String),
    /// It does again.
    Again,
    /// Windows that the log lost before they were sent: by the host's wall clock, ns since the epoch.
    Lost {
        /// The end of the last that was sent.
        from_wall_ns: i128,
        /// The beginning of the next that is there.
        to_wall_ns: i128,
        /// How much time of a boot that is; `None`: the machine was started anew in between.
        length_ns: Option<u64>,
    },
    /// Windows that are there and are not sent: since it was told last.
    LeftOut(Sent),
}

/// How it goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// What became of windows since it began.
    pub sent: Sent,
    /// Batches that the store took.
    pub batches: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Times at which the log had lost windows before they were sent,
    pub losses: u64,
    /// and how much time that was, as far as it is of one boot.
    pub lost_ns: u64,
    /// Up to when all is in the store, ns since the epoch; `None`: nothing was sent yet.
    pub until_wall_ns: Option<i128>,
    /// Bytes of the log's files from the one on in which the first window is that is not in the store; 0: all are.
    pub pending_bytes: u64,
    /// Why nothing is taken, in a harmless line; `None`: all that was tried last was taken.
    pub error: Option<String>,
    /// What is to be told, once.
    pub(super) news: Vec<News>,
}

impl Status {
    pub(super) fn tell(&mut self, news: News) {
        if self.news.len() == NEWS {
            self.news.remove(0);
        }
        self.news.push(news);
    }
}

/// A status that others look at.
#[derive(Debug, Default)]
pub(super) struct Shown(Mutex<Status>);

impl Shown {
    pub fn with<T>(&self, what: impl FnOnce(&mut Status) -> T) -> T {
        what(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A log, read on from where the store has it.
pub(super) struct Following<'a> {
    replay: Replay,
    courier: Courier<'a>,
    cursor: &'a Cursor,
    shown: &'a Shown,
    /// The last window that the store has; what lies before it is passed by.
    resumed: Option<Position>,
    /// The file that it was in is gone.
    file_is_gone: bool,
    /// The last window that was given to the courier.
    last: Option<Position>,
    /// The file of the last that is in the store.
    sent_file: Option<u64>,
    /// Why time before the next window is not recorded.
    gap: Option<Why>,
    /// What the log lost before windows that are not in the store yet.
    lost: Vec<News>,
    /// What was told of the courier's.
    counted: (Sent, u64),
}

impl<'a> Following<'a> {
    /// From where the cursor stands; `None`: there is no log yet.
    pub fn open(
        log: &Path,
        (client, groups): (&'a Client, usize),
        cursor: &'a Cursor,
        shown: &'a Shown,
    ) -> Result<Option<Following<'a>>, ExportError> {
        let recording = match Recording::open(log) {
            Err(RecordingError::Empty { .. }) => return Ok(None),
            recording => recording?,
        };
        let resumed = cursor.read();
        let (recording, file_is_gone) = from(recording, resumed.as_ref());
        let sending = Sending { client, groups, now_ns: now_ns() };
        Ok(Some(Following {
            replay: Replay::new(Reader::following(recording)),
            courier: Courier::new(sending),
            cursor,
            shown,
            last: resumed.clone(),
            sent_file: resumed.as_ref().map(|position| position.file),
            resumed,
            file_is_gone,
            gap: None,
            lost: Vec::new(),
            counted: Default::default(),
        }))
    }

    /// Sends all that is there.
    pub fn send_all(&mut self) -> Result<(), ExportError> {
        self.courier.set_now(now_ns());
        let done = self.windows();
        let parts = self.replay.reader().recording().parts().iter();
        let sent = self.sent_file;
        let left = parts.filter(|part| done.is_err() && part.number() >= sent);
        let pending_bytes = left.map(|part| part.bytes).sum();
        self.shown.with(|status| status.pending_bytes = pending_bytes);
        done
    }

    fn windows(&mut self) -> Result<(), ExportError> {
        loop {
            match self.replay.forward()? {
                Moved::Gap(gap) => self.gap = Some(gap.why),
                Moved::Window => self.window()?,
                Moved::End => break,
            }
        }
        self.courier.deliver()?;
        self.saved(self.last.clone())
    }

    fn window(&mut self) -> Result<(), ExportError> {
        let Some(here) = self.here() else { return Ok(()) };
        let passed = |there: &Position| there.boot_id == here.boot_id && here.t1_ns <= there.t1_ns;
        if self.resumed.as_ref().is_some_and(passed) {
            // What they say of the time between them was told then.
            self.gap = None;
            return Ok(());
        }
        if self.courier.make_way(&self.replay)? {
            self.saved(self.last.clone())?;
        }
        self.look_for_loss(&here);
        self.courier.put(&self.replay)?;
        (self.last, self.resumed, self.file_is_gone) = (Some(here), None, false);
        Ok(())
    }

    /// The window at which the replay is.
    fn here(&self) -> Option<Position> {
        let span = self.replay.span()?;
        Some(Position {
            file: self.replay.file()?,
            boot_id: self.replay.reader().machine()?.boot_id.clone(),
            t1_ns: span.t1_ns,
            wall_ns: i64::try_from(span.wall_t1_ns()).unwrap_or(i64::MAX),
        })
    }

    /// Whether files went between the last window that was sent and this one. Time that nobody recorded is no
    /// loss of the log's: it says so itself.
    fn look_for_loss(&mut self, here: &Position) {
        let gap = self.gap.take();
        let (Some(last), Some(span)) = (&self.last, self.replay.span()) else { return };
        let went = here.file > last.file.saturating_add(1) || self.file_is_gone;
        let same_boot = last.boot_id == here.boot_id;
        if !went || gap == Some(Why::NotWritten) || (same_boot && span.t0_ns <= last.t1_ns) {
            return;
        }
        let length_ns = same_boot.then(|| span.t0_ns - last.t1_ns);
        let (from_wall_ns, to_wall_ns) = (last.wall_ns.into(), span.wall_t0_ns());
        self.lost.push(News::Lost { from_wall_ns, to_wall_ns, length_ns });
    }

    /// Everything up to there is in the store, or was left out: only now that is told, since what fails comes again.
    fn saved(&mut self, position: Option<Position>) -> Result<(), ExportError> {
        let Some(position) = position else { return Ok(()) };
        self.cursor.save(&position)?;
        self.sent_file = Some(position.file);
        let (was, batches) = self.counted;
        let is = self.courier.sent;
        self.counted = (is, self.courier.batches);
        let new = Sent {
            windows: is.windows - was.windows,
            there: is.there - was.there,
            overlapping: is.overlapping - was.overlapping,
            old: is.old - was.old,
        };
        let lost = std::mem::take(&mut self.lost);
        self.shown.with(|status| {
            status.until_wall_ns = Some(position.wall_ns.into());
            status.sent.add(new);
            status.batches += self.courier.batches - batches;
            for news in lost {
                status.losses += 1;
                let News::Lost { length_ns, .. } = news else { continue };
                status.lost_ns += length_ns.unwrap_or(0);
                status.tell(news);
            }
            if new.overlapping + new.old > 0 {
                status.tell(News::LeftOut(Sent { windows: 0, there: 0, ..new }));
            }
        });
        Ok(())
    }
}

/// What of a log is not sent; whether the file is gone in which that begins.
fn from(recording: Recording, resumed: Option<&Position>) -> (Recording, bool) {
    let Some(Position { file, .. }) = resumed else { return (recording, false) };
    let has =
        |is: &dyn Fn(u64) -> bool| recording.parts().iter().any(|p| p.number().is_some_and(is));
    let (there, later) = (has(&|number| number == *file), has(&|number| number > *file));
    match (there, later) {
        (false, false) => (recording, true),
        (there, _) => (recording.from_file(*file), !there),
    }
}

/// What the time is, ns since the epoch.
fn now_ns() -> i128 {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or(Duration::ZERO);
    i128::try_from(since.as_nanos()).unwrap_or(i128::MAX)
}
