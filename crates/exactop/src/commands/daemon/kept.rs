//! What is recorded: windows as long as those of `exactop record`, whoever looks in between.

use crate::commands::record::DETAILS;
use crate::recorded::Shared;
use exactop_model::ledger::merged::Merged;
use exactop_model::{Book, Feed, Frame, FrameOptions, Row, Snapshot, Still, Tap};
use exactop_recording::Recorder;
use exactop_sources::session::Session;
use std::time::{Duration, Instant};

/// Collects what happens, and records it when it is due.
pub struct Kept {
    recorder: Option<Shared>,
    merged: Merged,
    book: Book,
    interval: Duration,
    due: Instant,
    /// Names of everyone once; from then on of those who do something.
    still: Still,
}

impl Kept {
    /// Windows of this length; without a recorder nothing is kept.
    pub fn new(recorder: Option<Shared>, interval: Duration) -> Kept {
        Kept {
            recorder,
            merged: Merged::new(),
            book: Book::new(),
            interval,
            due: Instant::now(),
            still: Still::All,
        }
    }

    /// Windows are as long as this from the next one on.
    pub fn set_interval(&mut self, interval: Duration) {
        self.interval = interval;
        self.due = self.due.min(Instant::now() + interval);
    }

    /// When a window is to end for it.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// Takes a snapshot, and records if it is time.
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

    /// Records everything since the last time.
    fn record(&mut self, recorder: &Shared, session: &mut Session) {
        let Some(now) = self.merged.take() else { return };
        recorder.with(|recorder| Tap::snapshot(recorder, &now, &self.book));
        if let Some(mut window) = self.book.advance(now) {
            // Nothing can be read of who exited, and in a storm they are the most.
            window.exited = Vec::new();
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

    /// All since the last time is recorded, and the file ends in good order.
    pub fn finish(mut self, session: &mut Session) {
        if let Some(recorder) = self.recorder.take() {
            self.record(&recorder, session);
            super::finish(&recorder);
        }
    }
}
