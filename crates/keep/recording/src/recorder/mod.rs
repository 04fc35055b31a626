//! Records a session, window by window.

mod tap;

use crate::about::Machine;
use crate::clocks::Clocks;
use crate::disk::Disk;
use crate::encode::Encoder;
use crate::error::{FrameError, RecordingError};
use crate::file::FileBytes;
use crate::frame::Span;
use crate::gap::{GapReason, GapRecord};
use crate::options::{Notice, Options, Sync};
use crate::retention::Retention;
use crate::rows::{DetailKey, Facts, PageData};
use exactop_model::{Book, Snapshot};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// Most windows between two keyframes.
const KEYFRAME_WINDOWS: u32 = 64;
/// Most time between two keyframes, ns.
const KEYFRAME_NS: u64 = 600_000_000_000;
/// Smallest step of the wall clock that counts as set, ns.
const SET_NS: u64 = 1_000_000_000;

/// The file that is being written.
#[derive(Debug)]
struct Running {
    file: File,
    bytes: FileBytes,
    begun_ns: u64,
    windows: u32,
    keyframe_ns: u64,
    wall_offset_ns: i64,
    /// The file holds no window yet.
    is_empty: bool,
}

/// Writes a recording.
#[derive(Debug)]
pub struct Recorder {
    disk: Disk,
    machine: Machine,
    options: Options,
    session: Option<u64>,
    running: Option<Running>,
    /// Encoder with the lasting details, while no file is open.
    known: Encoder,
    retention: Retention,
    /// Beginning and reason of the gap before the next file.
    gap: Option<(u64, GapRecord)>,
    clocks: Option<Clocks>,
    last: Option<Span>,
    pending: Vec<(DetailKey, Facts)>,
    places: FxHashMap<DetailKey, usize>,
    page: PageData,
    synced_ns: u64,
    windows: u64,
    notices: Vec<Notice>,
    /// The last window could not be written.
    failing: bool,
}

impl Recorder {
    /// Records into a directory; creates it if missing.
    ///
    /// # Errors
    /// [`RecordingError`]: another process records there, another user could change the directory,
    /// or it cannot be written.
    pub fn open(
        path: &Path,
        machine: Machine,
        options: Options,
    ) -> Result<Recorder, RecordingError> {
        let (disk, found) = Disk::take(path)?;
        let same_boot = |part: &crate::parts::Part| part.boot_id == machine.boot_id;
        let gap = found.last.as_ref().map(|last| match (same_boot(last), last.to_ns) {
            (true, Some(to_ns)) => (to_ns, GapReason::NotRunning.into()),
            _ => (0, GapReason::Boot.into()),
        });
        let notices = found.notices();
        Ok(Recorder {
            disk,
            machine,
            options,
            session: None,
            running: None,
            known: Encoder::default(),
            retention: Retention::default(),
            gap,
            clocks: None,
            last: None,
            pending: Vec::new(),
            places: FxHashMap::default(),
            page: PageData::default(),
            synced_ns: 0,
            windows: 0,
            notices,
            failing: false,
        })
    }

    /// Notices since the last call.
    pub fn notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// Windows written so far.
    pub fn windows(&self) -> u64 {
        self.windows
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.disk.bytes()
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        self.disk.directory.path()
    }

    /// Writes the details of the last window. Otherwise they are written before the next window.
    pub fn settle(&mut self) {
        let facts = std::mem::take(&mut self.pending);
        let page = std::mem::take(&mut self.page);
        self.places.clear();
        if facts.is_empty() && page.is_empty() {
            return;
        }
        let (Some(span), Some(running)) = (self.last, &mut self.running) else {
            // Keep the details for the next file: exactop does not read those of sleeping tasks
            // again. Details above a limit are dropped until they are read again.
            let _ = self.known.details(facts, &PageData::default());
            return;
        };
        let bytes = running.bytes.details(span, facts, &page);
        let written = self.put(bytes).and_then(|()| self.sync(span.t1_ns));
        self.note_outcome(written);
    }

    /// Records a snapshot and the clocks of its instant, before the book takes it. A window that
    /// cannot be written becomes a gap; [`Recorder::notices`] reports it.
    pub fn record(&mut self, now: &Snapshot, before: &Book, clocks: Clocks) {
        self.settle();
        let written = self.take(now, before, clocks);
        self.note_outcome(written);
        let Some(last) = self.last else { return };
        let running = self.running.is_some();
        let boot_id = &self.machine.boot_id;
        let gone = self.retention.apply(&mut self.disk, &self.options, boot_id, last, running);
        self.notices.extend(gone);
    }

    /// Seals the file.
    pub fn finish(&mut self) {
        self.settle();
        let (Some(span), Some(mut running)) = (self.last, self.running.take()) else { return };
        if let Ok(seal) = running.bytes.seal(Span { t0_ns: span.t1_ns, ..span }) {
            // A file without a seal is readable, too.
            let _ = running.file.write_all(&seal).and_then(|()| running.file.sync_data());
        }
        self.known = running.bytes.known();
    }

    fn take(
        &mut self,
        now: &Snapshot,
        before: &Book,
        clocks: Clocks,
    ) -> Result<(), RecordingError> {
        let (at_ns, Clocks { wall_offset_ns, .. }) = (now.at_ns, clocks);
        let is_after_suspend = self.is_after_suspend(clocks);
        // Begin a file when the wall clock was set, so that a time of day is unique within a file.
        let is_set = self
            .running
            .as_ref()
            .is_some_and(|running| running.wall_offset_ns.abs_diff(wall_offset_ns) > SET_NS)
            || is_after_suspend;
        let Some(whole) = self.whole_if_due(now, before, is_set) else {
            return self.window(now, wall_offset_ns);
        };
        let t1_ns = whole.at_ns;
        let span = Span { t0_ns: t1_ns, t1_ns, wall_offset_ns };
        // The source restarted: report a gap and start another file.
        let has_begun_anew = before.at_ns().is_none();
        if is_set || has_begun_anew || self.is_full(t1_ns) {
            self.finish();
        }
        if has_begun_anew {
            self.session = None;
            // Account numbers start over, so all details are invalid.
            self.known = Encoder::default();
        }
        if self.running.is_none() {
            if let Err(error) = self.begin(span) {
                // Forget details of exited tasks, however long the failure lasts. If the rest
                // exceeds a limit, those details are dropped until they are read again.
                let _ = self.known.keyframe(&whole);
                return Err(error);
            }
        }
        let Some(running) = &mut self.running else { return Ok(()) };
        (running.windows, running.keyframe_ns) = (0, t1_ns);
        let bytes = running.bytes.keyframe(span, &whole);
        self.put(bytes)?;
        self.last = Some(span);
        if t1_ns < at_ns {
            return self.window(now, wall_offset_ns);
        }
        self.sync(at_ns)
    }

    /// True if the machine was suspended since the last window's end. A gap then reports it,
    /// because the window's length does not include the suspended time.
    fn is_after_suspend(&mut self, clocks: Clocks) -> bool {
        let before = self.clocks.replace(clocks);
        let suspended_ns = before.and_then(|before| clocks.suspended_since(&before));
        let (Some(last), Some(_), Some(_)) = (self.last, &self.running, suspended_ns) else {
            return false;
        };
        self.gap = Some((last.t1_ns, GapRecord { why: GapReason::Suspend, suspended_ns }));
        true
    }

    /// All tasks as of the last window's end, if the next frame must be a keyframe.
    fn whole_if_due(&self, now: &Snapshot, before: &Book, is_set: bool) -> Option<Snapshot> {
        let Some(at_ns) = before.at_ns() else { return Some(now.clone()) };
        let due = self.running.as_ref().is_none_or(|running| {
            running.windows >= KEYFRAME_WINDOWS
                || running.bytes.is_long()
                || at_ns.saturating_sub(running.keyframe_ns) >= KEYFRAME_NS
        });
        if due || is_set || self.is_full(at_ns) {
            before.whole()
        } else {
            None
        }
    }

    fn is_full(&self, at_ns: u64) -> bool {
        let Some(running) = &self.running else { return false };
        // `retention` removes whole files, so a short `keep` needs short files.
        let time = self.options.keep.map_or(Duration::MAX, |keep| keep / 4);
        let time = time.min(self.options.file_time);
        let time_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        // A small `max_bytes` needs small files, so that the others stay when one is removed.
        let most = self.options.max_bytes.map_or(u64::MAX, |max| max / 4);
        let bytes = self.disk.files.last().map_or(0, |file| file.bytes);
        running.windows > 0
            && (bytes >= self.options.file_bytes.min(most)
                || at_ns.saturating_sub(running.begun_ns) >= time_ns)
    }

    fn window(&mut self, now: &Snapshot, wall_offset_ns: i64) -> Result<(), RecordingError> {
        let Some(last) = self.last else { return Ok(()) };
        let Some(running) = &mut self.running else { return Ok(()) };
        let span = Span { t0_ns: last.t1_ns, t1_ns: now.at_ns, wall_offset_ns };
        let bytes = running.bytes.window(span, now);
        running.windows += 1;
        self.put(bytes)?;
        // The gap is written; the file is now worth keeping.
        self.gap = None;
        if let Some(running) = &mut self.running {
            running.is_empty = false;
        }
        self.last = Some(span);
        self.windows += 1;
        self.sync(now.at_ns)
    }

    /// Starts a new file.
    fn begin(&mut self, span: Span) -> Result<(), RecordingError> {
        let session = *self.session.get_or_insert(span.t1_ns);
        let made = FileBytes::begin(&self.machine, session, false);
        let (mut bytes, mut begin) = made.map_err(|bad| self.unmade(bad))?;
        if let Some((t0_ns, stated)) = self.gap {
            let gap = bytes.gap(Span { t0_ns, ..span }, stated).map_err(|bad| self.unmade(bad))?;
            begin.extend(gap);
        }
        let file = loop {
            match self.disk.begin(&begin) {
                Ok(file) => break file,
                Err(error) if error.is_full() && self.make_room() => {}
                Err(error) => return Err(error),
            }
        };
        bytes.know(std::mem::take(&mut self.known));
        let (begun_ns, keyframe_ns) = (span.t1_ns, span.t1_ns);
        let wall_offset_ns = span.wall_offset_ns;
        let running = Running {
            file,
            bytes,
            begun_ns,
            windows: 0,
            keyframe_ns,
            wall_offset_ns,
            is_empty: true,
        };
        self.running = Some(running);
        Ok(())
    }

    fn unmade(&self, bad: FrameError) -> RecordingError {
        RecordingError::io("write", self.path(), io::Error::other(bad))
    }

    /// Writes a frame whole or not at all.
    fn put(&mut self, bytes: Result<Vec<u8>, FrameError>) -> Result<(), RecordingError> {
        let bytes = bytes.map_err(|bad| self.unmade(bad))?;
        loop {
            let Some(running) = &mut self.running else { return Ok(()) };
            let Some(kept) = self.disk.files.last_mut() else { return Ok(()) };
            match running.file.write_all(&bytes) {
                Ok(()) => {
                    kept.bytes += bytes.len() as u64;
                    return Ok(());
                }
                Err(error) => {
                    // Remove a partial frame: readers would skip it, but it takes space.
                    let _ = running.file.set_len(kept.bytes);
                    let error = RecordingError::io("write", self.path(), error);
                    if !error.is_full() || !self.make_room() {
                        return Err(error);
                    }
                }
            }
        }
    }

    fn make_room(&mut self) -> bool {
        let gone = self.disk.drop_oldest();
        self.notices.extend(gone.iter().map(|gone| Notice::Full(gone.bytes)));
        gone.is_some()
    }

    fn sync(&mut self, at_ns: u64) -> Result<(), RecordingError> {
        let due = match self.options.sync {
            Sync::Window => true,
            Sync::Every(time) => {
                // Allow a tenth less: a window that ends a little early would otherwise be synced a
                // window late.
                let (since_ns, time_ns) = (at_ns.saturating_sub(self.synced_ns), time.as_nanos());
                u128::from(since_ns) + time_ns / 10 >= time_ns
            }
            Sync::Never => false,
        };
        if let Some(running) = self.running.as_ref().filter(|_| due) {
            self.synced_ns = at_ns;
            let synced = running.file.sync_data();
            return synced.map_err(|error| RecordingError::io("write", self.path(), error));
        }
        Ok(())
    }

    /// Notes a failure: the window becomes a gap, and the next window starts a new file.
    fn note_outcome(&mut self, written: Result<(), RecordingError>) {
        match written {
            Ok(()) if self.failing => {
                self.failing = false;
                self.notices.push(Notice::Again);
            }
            Ok(()) => {}
            Err(error) => {
                if let Some(running) = self.running.take() {
                    if running.is_empty {
                        self.disk.drop_newest();
                    }
                    self.known = running.bytes.known();
                }
                let from_ns = self.last.map_or(0, |last| last.t1_ns);
                // A gap that began for another reason lasts until writing works again.
                let suspend = self.gap.take_if(|(_, stated)| stated.why == GapReason::Suspend);
                let from_ns = suspend.map_or(from_ns, |(from_ns, _)| from_ns);
                self.gap.get_or_insert((from_ns, GapReason::NotWritten.into()));
                if !self.failing {
                    self.notices.push(Notice::NotWritten(error.to_string()));
                }
                self.failing = true;
            }
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.finish();
    }
}
