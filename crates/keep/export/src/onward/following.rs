//! A log that somebody goes on writing, as far as it is in a store or in files. The log is the spool: it is on the disk already and has a
//! bound. What it lost before it was sent is told, with its time.

use super::cursor::{Cursor, Position, UnderWay};
use crate::carrier::{Carrier, Sent};
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
    carrier: Box<dyn Carrier + 'a>,
    cursor: &'a Cursor,
    shown: &'a Shown,
    /// The last window that the store has; what lies before it is passed by.
    resumed: Option<Position>,
    /// Where the cursor stands.
    stands: Option<Position>,
    /// The file that it was in is gone.
    file_is_gone: bool,
    /// The last window that was given to the carrier,
    last: Option<Position>,
    /// and the file of the first of those that are under way.
    first_file: Option<u64>,
    /// Those that were under way once and come again, as they were.
    again: Option<UnderWay>,
    /// The file of the last that is in the store.
    sent_file: Option<u64>,
    /// Why time before the next window is not recorded.
    gap: Option<Why>,
    /// What the log lost before windows that are not in the store yet.
    lost: Vec<News>,
    /// What was told of the carrier's.
    counted: (Sent, u64),
}

impl<'a> Following<'a> {
    /// From where the cursor stands; `None`: there is no log yet.
    pub fn open(
        log: &Path,
        carrier: Box<dyn Carrier + 'a>,
        cursor: &'a Cursor,
        shown: &'a Shown,
    ) -> Result<Option<Following<'a>>, ExportError> {
        let recording = match Recording::open(log) {
            Err(RecordingError::Empty { .. }) => return Ok(None),
            recording => recording?,
        };
        let (resumed, again) = resumed(&recording, &*carrier, cursor)?;
        let (recording, file_is_gone) = from(recording, resumed.as_ref());
        Ok(Some(Following {
            replay: Replay::new(Reader::following(recording)),
            carrier,
            cursor,
            shown,
            last: resumed.clone(),
            first_file: None,
            again,
            sent_file: resumed.as_ref().map(|position| position.file),
            stands: resumed.clone(),
            resumed,
            file_is_gone,
            gap: None,
            lost: Vec::new(),
            counted: Default::default(),
        }))
    }

    /// Sends all that is there.
    pub fn send_all(&mut self) -> Result<(), ExportError> {
        self.carrier.set_now(now_ns());
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
        self.deliver()
    }

    fn window(&mut self) -> Result<(), ExportError> {
        let Some(here) = self.here() else { return Ok(()) };
        self.look_for_beginning(&here)?;
        let passed = |there: &Position| there.boot_id == here.boot_id && here.t1_ns <= there.t1_ns;
        if self.resumed.as_ref().is_some_and(passed) {
            // What they say of the time between them was told then.
            self.gap = None;
            return Ok(());
        }
        if self.first_file.is_some() && !self.goes_on(&here)? {
            self.deliver()?;
        }
        self.look_for_loss(&here);
        self.carrier.put(&self.replay)?;
        self.first_file.get_or_insert(here.file);
        (self.last, self.resumed, self.file_is_gone) = (Some(here), None, false);
        Ok(())
    }

    /// Whether those that come again begin as they did: their first file may have gone since it was looked for.
    fn look_for_beginning(&mut self, here: &Position) -> Result<(), ExportError> {
        let begins = self.first_file.is_none();
        let cut = self.again.take_if(|again| begins && here.file > again.file);
        let Some(UnderWay { label, last, .. }) = cut else { return Ok(()) };
        if self.carrier.was_taken(&label)? {
            self.cursor.save(&last)?;
            self.sent_file = Some(last.file);
            self.file_is_gone = here.file > last.file;
            (self.stands, self.last) = (Some(last.clone()), Some(last.clone()));
            self.resumed = Some(last);
        }
        Ok(())
    }

    /// Whether a window goes with those that are under way.
    fn goes_on(&self, here: &Position) -> Result<bool, ExportError> {
        match self.again.as_ref().map(|again| &again.last) {
            Some(last) => Ok(last.boot_id == here.boot_id && here.t1_ns <= last.t1_ns),
            None => self.carrier.goes_on(&self.replay),
        }
    }

    /// Has what is under way delivered.
    fn deliver(&mut self) -> Result<(), ExportError> {
        let files = self.first_file.zip(self.last.clone());
        if let Some((label, (file, last))) = self.carrier.label().zip(files) {
            self.cursor.begin(self.stands.as_ref(), UnderWay { label, file, last })?;
        }
        self.carrier.deliver()?;
        (self.first_file, self.again) = (None, None);
        self.saved(self.last.clone())
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
        if self.stands.as_ref() != Some(&position) {
            self.cursor.save(&position)?;
            self.stands = Some(position.clone());
        }
        self.sent_file = Some(position.file);
        let (was, batches) = self.counted;
        let is = self.carrier.sent();
        self.counted = (is, self.carrier.batches());
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
            status.batches += self.counted.1 - batches;
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

/// The last window that is there, and the last one of a batch of which nobody heard whether it was taken: it comes again as it was.
/// If the log lost its first windows since, the other end is asked.
fn resumed(
    recording: &Recording,
    carrier: &dyn Carrier,
    cursor: &Cursor,
) -> Result<(Option<Position>, Option<UnderWay>), ExportError> {
    let (position, under_way) = cursor.read();
    let Some(under_way) = under_way else { return Ok((position, None)) };
    if recording.parts().iter().any(|part| part.number() == Some(under_way.file)) {
        return Ok((position, Some(under_way)));
    }
    let UnderWay { label, last, .. } = under_way;
    if !carrier.was_taken(&label)? {
        return Ok((position, None));
    }
    cursor.save(&last)?;
    Ok((Some(last), None))
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
