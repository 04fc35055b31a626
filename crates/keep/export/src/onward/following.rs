//! Follows a log and delivers it. The log itself is the spool: it is already on the disk and has a
//! size limit. Windows that the log removes before they are delivered are reported as lost, with
//! their time.

use super::cursor::{Cursor, Position, UnderWay};
use crate::carrier::{Carrier, SentCounts};
use crate::ExportError;
use exactop_recording::{GapReason, Reader, Recording, RecordingError, Replay, ReplayStep};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Most news kept; the oldest are dropped.
const NEWS: usize = 100;

/// An event that the operator should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// The destination accepts nothing: the error.
    Away(String),
    /// The destination accepts windows again.
    Again,
    /// The log removed windows before they were delivered. Times by the host's wall clock, ns since
    /// the epoch.
    Lost {
        /// End of the last delivered window.
        from_wall_ns: i128,
        /// Beginning of the next window that exists.
        to_wall_ns: i128,
        /// Lost time, ns; `None` if the machine rebooted in between.
        length_ns: Option<u64>,
    },
    /// Windows that were left out since the last such report.
    LeftOut(SentCounts),
}

/// Status of an exporter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Results since its start.
    pub sent: SentCounts,
    /// Batches delivered.
    pub batches: u64,
    /// Failed attempts.
    pub failed: u64,
    /// Number of times that the log removed windows before they were delivered.
    pub losses: u64,
    /// Time of those windows, ns, as far as it is within one boot.
    pub lost_ns: u64,
    /// Everything up to here is delivered, ns since the epoch; `None` before the first delivery.
    pub until_wall_ns: Option<i128>,
    /// Bytes of the log's files from the first with an undelivered window on; 0 if all is
    /// delivered.
    pub pending_bytes: u64,
    /// Last error in one escaped line; `None` if the last attempt succeeded.
    pub error: Option<String>,
    /// News that were not read yet.
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

/// A status that other threads read.
#[derive(Debug, Default)]
pub(super) struct Shown(Mutex<Status>);

impl Shown {
    pub fn with<T>(&self, what: impl FnOnce(&mut Status) -> T) -> T {
        what(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A log that is read from the cursor on.
pub(super) struct Following<'a> {
    replay: Replay,
    carrier: Box<dyn Carrier + 'a>,
    cursor: &'a Cursor,
    shown: &'a Shown,
    /// Last delivered window; windows up to it are skipped.
    resumed: Option<Position>,
    /// Position of the cursor.
    stands: Option<Position>,
    /// The file of that window has been removed.
    file_is_gone: bool,
    /// Last window given to the carrier.
    last: Option<Position>,
    /// File of the first window in the current batch.
    first_file: Option<u64>,
    /// An unconfirmed batch that is delivered again, with the same windows.
    again: Option<UnderWay>,
    /// File of the last delivered window.
    sent_file: Option<u64>,
    /// Why the time before the next window is not recorded.
    gap: Option<GapReason>,
    /// Losses before windows that are not delivered yet.
    lost: Vec<News>,
    /// Results and batches of the carrier that were already counted.
    counted: (SentCounts, u64),
}

impl<'a> Following<'a> {
    /// Opens the log at the cursor; `None` if there is no log yet.
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

    /// Delivers all that is there.
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
                ReplayStep::Gap(gap) => self.gap = Some(gap.why),
                ReplayStep::Window => self.window()?,
                ReplayStep::End => break,
            }
        }
        self.deliver()
    }

    fn window(&mut self) -> Result<(), ExportError> {
        let Some(here) = self.position() else { return Ok(()) };
        self.look_for_beginning(&here)?;
        let passed = |there: &Position| there.boot_id == here.boot_id && here.t1_ns <= there.t1_ns;
        if self.resumed.as_ref().is_some_and(passed) {
            // Gaps before it were reported at the first delivery.
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

    /// Checks that the unconfirmed batch still has its first file, which may have been removed
    /// since it was looked up.
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

    /// True if a window fits into the current batch.
    fn goes_on(&self, here: &Position) -> Result<bool, ExportError> {
        match self.again.as_ref().map(|again| &again.last) {
            Some(last) => Ok(last.boot_id == here.boot_id && here.t1_ns <= last.t1_ns),
            None => self.carrier.goes_on(&self.replay),
        }
    }

    /// Delivers the current batch.
    fn deliver(&mut self) -> Result<(), ExportError> {
        let files = self.first_file.zip(self.last.clone());
        if let Some((label, (file, last))) = self.carrier.label().zip(files) {
            self.cursor.begin(self.stands.as_ref(), UnderWay { label, file, last })?;
        }
        self.carrier.deliver()?;
        (self.first_file, self.again) = (None, None);
        self.saved(self.last.clone())
    }

    /// Position of the replay's current window.
    fn position(&self) -> Option<Position> {
        let span = self.replay.span()?;
        Some(Position {
            file: self.replay.file()?,
            boot_id: self.replay.reader().machine()?.boot_id.clone(),
            t1_ns: span.t1_ns,
            wall_ns: i64::try_from(span.wall_t1_ns()).unwrap_or(i64::MAX),
        })
    }

    /// Reports a loss if the log removed files between the last delivered window and this one.
    /// Unrecorded time is not a loss: the log reports it as a gap.
    fn look_for_loss(&mut self, here: &Position) {
        let gap = self.gap.take();
        let (Some(last), Some(span)) = (&self.last, self.replay.span()) else { return };
        let went = here.file > last.file.saturating_add(1) || self.file_is_gone;
        let same_boot = last.boot_id == here.boot_id;
        if !went || gap == Some(GapReason::NotWritten) || (same_boot && span.t0_ns <= last.t1_ns) {
            return;
        }
        let length_ns = same_boot.then(|| span.t0_ns - last.t1_ns);
        let (from_wall_ns, to_wall_ns) = (last.wall_ns.into(), span.wall_t0_ns());
        self.lost.push(News::Lost { from_wall_ns, to_wall_ns, length_ns });
    }

    /// Notes that everything up to `position` is delivered or left out. Losses are reported only
    /// now, because a failed delivery is repeated.
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
        let new = SentCounts {
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
                status.tell(News::LeftOut(SentCounts { windows: 0, there: 0, ..new }));
            }
        });
        Ok(())
    }
}

/// The last delivered window, and the unconfirmed batch, which is delivered again unchanged. If the
/// log has removed the batch's first windows, the destination is asked if it has the batch.
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

/// The undelivered part of a log; also true if the file in which that begins has been removed.
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

/// Current time, ns since the epoch.
fn now_ns() -> i128 {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or(Duration::ZERO);
    i128::try_from(since.as_nanos()).unwrap_or(i128::MAX)
}
