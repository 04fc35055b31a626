//! Records windows of the length that `record.interval` sets, however often readers close shorter
//! ones.

use crate::commands::record::{name_users, DETAILS};
use crate::recorded::Shared;
use exactop_model::ledger::merged::Merged;
use exactop_model::{Book, Feed, Frame, FrameOptions, IdleRows, Row, Snapshot, Tap};
use exactop_recording::Recorder;
use exactop_sources::session::Session;
use std::time::{Duration, Instant};

/// Merges snapshots, and records a window when it is due.
pub struct PacedRecorder {
    recorder: Option<Shared>,
    merged: Merged,
    book: Book,
    interval: Duration,
    due: Instant,
    /// Names of all tasks in the first window, then of tasks that were active.
    still: IdleRows,
}

impl PacedRecorder {
    /// Records windows of this length; without a recorder it keeps nothing.
    pub fn new(recorder: Option<Shared>, interval: Duration) -> PacedRecorder {
        PacedRecorder {
            recorder,
            merged: Merged::new(),
            book: Book::new(),
            interval,
            due: Instant::now(),
            still: IdleRows::All,
        }
    }

    /// Sets the length from the next window on.
    pub fn set_interval(&mut self, interval: Duration) {
        self.interval = interval;
        self.due = self.due.min(Instant::now() + interval);
    }

    /// When the next recorded window ends.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// Takes a snapshot, and records if a window is due.
    pub fn take(&mut self, now: Snapshot, session: &mut Session) {
        let is_due = self.due <= Instant::now();
        if is_due {
            self.due = (self.due + self.interval).max(Instant::now());
        }
        if let Some(recorder) = self.recorder.clone() {
            self.merged.add(now);
            if is_due {
                self.record(&recorder, session);
            }
        }
    }

    /// Records all that happened since the last recorded window.
    fn record(&mut self, recorder: &Shared, session: &mut Session) {
        let Some(now) = self.merged.take() else { return };
        recorder.with(|recorder| Tap::snapshot(recorder, &now, &self.book));
        if let Some(mut window) = self.book.advance(now) {
            // The files of exited tasks are gone, and in a storm of processes these are most rows.
            let exited = std::mem::take(&mut window.exited);
            name_users(session, exited.iter().filter_map(|exit| exit.sample.uid));
            let still = std::mem::take(&mut self.still);
            let options = FrameOptions { still, ..FrameOptions::default() };
            let mut frame = Frame::new(&window, &self.book, &options);
            drop(window);
            let mut rows: Vec<&mut Row> = frame.rows.iter_mut().collect();
            session.details(&mut rows, DETAILS);
        }
        recorder.with(Recorder::settle);
        recorder.tell();
    }

    /// Records the rest and closes the file.
    pub fn finish(mut self, session: &mut Session) {
        if let Some(recorder) = self.recorder.take() {
            self.record(&recorder, session);
            super::finish(&recorder);
        }
    }
}
