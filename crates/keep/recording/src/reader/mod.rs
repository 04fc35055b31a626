//! Reads a recording in order from some time on: windows and the gaps between them.
//!
//! Decoding a window needs all frames since the last keyframe. After damage, the reader reports a
//! gap up to the next keyframe, so it never returns a wrong figure.

use crate::about::Machine;
mod gaps;

use crate::bounds::Payload;
use crate::decode::Decoder;
use crate::error::RecordingError;
use crate::frame::{FrameHeader, FrameKind, Span};
use crate::gap::{Gap, GapReason, GapRecord};
use crate::index::{FrameAt, Index, IndexedWindow, RecordingPosition};
use crate::lost::{Lost, Point};
use crate::parts::Recording;
use crate::rows::{DetailKey, Details, Facts, PageData};
use crate::segment::{FrameSlot, Segment};
use exactop_model::Snapshot;
use std::collections::VecDeque;

/// Most gap frames that are kept for one gap; more are ignored.
const STATED: usize = 64;

/// The next event of a recording.
#[derive(Clone, Debug)]
pub enum Step {
    /// All tasks where windows begin: opens a new book.
    Opened(Box<Snapshot>),
    /// A window's end.
    Window(Box<Recorded>),
    /// Time that is not recorded. The next step opens a new book.
    Gap(Gap),
}

/// A recorded window.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Its time.
    pub span: Span,
    /// Cumulative figures at its end: of the tasks that changed, or of all tasks.
    pub snapshot: Snapshot,
    pub(crate) details: Details,
    /// What was measured on demand.
    pub(crate) page: PageData,
    pub(crate) at: RecordingPosition,
}

#[derive(Debug)]
struct Open {
    segment: Segment,
    decoder: Decoder,
    at: u64,
    /// Frame number that must come next; `None` accepts any.
    expected: Option<u32>,
}

/// Reads a recording.
#[derive(Debug)]
pub struct Reader {
    recording: Recording,
    index: Index,
    part: usize,
    open: Option<Open>,
    point: Option<Point>,
    in_step: bool,
    /// Why decoding stopped, until a gap reports it.
    why: Option<GapReason>,
    /// A frame since the last keyframe could not be decoded.
    broken: bool,
    lost: Option<Lost>,
    /// A gap was reported after the last window: the next step opens a new book.
    gap_reported: bool,
    /// Instant of a book that has taken every step; `None` if no book was opened.
    known_ns: Option<u64>,
    /// Gap frames before the next keyframe, each with its beginning.
    stated: Vec<(Span, GapRecord)>,
    ready: VecDeque<Step>,
    /// A recorder is running: a partial frame at the very end will be completed.
    follows: bool,
    /// Bytes that could not be read so far.
    damaged: u64,
}

impl Reader {
    /// Reads from the beginning.
    pub fn new(recording: Recording) -> Reader {
        Reader {
            recording,
            index: Index::default(),
            part: 0,
            open: None,
            point: None,
            in_step: false,
            why: None,
            broken: false,
            lost: None,
            gap_reported: false,
            known_ns: None,
            stated: Vec::new(),
            ready: VecDeque::new(),
            follows: false,
            damaged: 0,
        }
    }

    /// Reads from the beginning while a recorder runs; waits for partial frames at the end.
    pub fn following(recording: Recording) -> Reader {
        Reader { follows: true, ..Reader::new(recording) }
    }

    /// The recording.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Machine of the current file.
    pub fn machine(&self) -> Option<&Machine> {
        self.open.as_ref().map(|open| &open.segment.about().machine)
    }

    /// True if names in the current file were replaced.
    pub fn is_anonymous(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.segment.about().anonymous)
    }

    /// Damaged bytes that were skipped so far.
    pub fn damaged_bytes(&self) -> u64 {
        self.damaged
    }

    /// Returns the next step; `None` at the end. If a recorder still runs, a later call may return
    /// more.
    ///
    /// # Errors
    /// [`RecordingError`]: a file has become unreadable.
    pub fn step(&mut self) -> Result<Option<Step>, RecordingError> {
        loop {
            if let Some(step) = self.ready.pop_front() {
                return Ok(Some(step));
            }
            let has_more = self.current()?.is_some();
            let more = self.part + 1 < self.recording.parts().len();
            // All known files were removed, and there are new ones.
            if !has_more && self.recording.follow()? {
                continue;
            }
            let Some(open) = self.open.as_mut().filter(|_| has_more) else {
                self.tell_lost(None);
                return Ok(self.ready.pop_front());
            };
            let at = open.at;
            match open.segment.find(at)? {
                FrameSlot::End if more => {
                    self.part += 1;
                    self.open = None;
                }
                // The recorder may have started the next file meanwhile.
                FrameSlot::End if self.recording.follow()? => {}
                FrameSlot::End => {
                    self.tell_lost(None);
                    return Ok(self.ready.pop_front());
                }
                FrameSlot::Damaged(next)
                    if self.follows && !more && next >= open.segment.length()? =>
                {
                    // The next recorder in this directory truncates a partial frame that is never
                    // completed.
                    if !self.recording.follow()? {
                        return Ok(self.ready.pop_front());
                    }
                }
                FrameSlot::Damaged(next) => {
                    open.at = next;
                    open.expected = None;
                    self.lose(GapReason::Damaged, next - at);
                }
                FrameSlot::Frame(header) => self.frame(&header, at),
            }
        }
    }

    /// Opens the current file if needed; `None` after the last.
    fn current(&mut self) -> Result<Option<&mut Open>, RecordingError> {
        while self.open.is_none() {
            let Some(part) = self.recording.parts().get(self.part) else { return Ok(None) };
            let segment = match self.recording.segment(&part.name) {
                Ok(segment) => segment,
                // A running recorder removed it because it is too old.
                Err(error) if error.is_missing() => {
                    self.part += 1;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let decoder = Decoder::new(&segment.about().tables);
            let at = segment.begin();
            self.in_step = false;
            self.open = Some(Open { segment, decoder, at, expected: Some(1) });
        }
        Ok(self.open.as_mut())
    }

    /// Stops decoding until the next keyframe.
    fn lose(&mut self, why: GapReason, bytes: u64) {
        self.in_step = false;
        self.broken = true;
        self.why.get_or_insert(why);
        self.damaged += bytes;
    }

    /// An instant of the current file.
    fn point(&self, span: Span) -> Option<Point> {
        let about = self.open.as_ref()?.segment.about();
        Some(Point { boot_id: about.machine.boot_id.clone(), session: about.session, span })
    }

    fn frame(&mut self, header: &FrameHeader, at: u64) {
        let Some(open) = &mut self.open else { return };
        open.at = at + header.length();
        let in_order = open.expected.is_none_or(|expected| expected == header.number);
        open.expected = header.number.checked_add(1);
        if !in_order {
            self.lose(GapReason::Damaged, 0);
        }
        let needed = match header.kind {
            FrameKind::Keyframe | FrameKind::Gap => true,
            FrameKind::Window | FrameKind::Details => self.in_step,
            FrameKind::Header
            | FrameKind::Seal
            | FrameKind::Word
            | FrameKind::Answer
            | FrameKind::Unknown(_) => false,
        };
        if let (true, Some(open)) = (needed, &self.open) {
            match open.segment.payload(header, at) {
                None => self.lose(GapReason::Damaged, header.length()),
                Some(payload) => self.payload(header, &payload, at),
            }
        }
        if self.broken && !self.in_step {
            self.pass_by(header);
        }
    }

    fn payload(&mut self, header: &FrameHeader, payload: &Payload, at: u64) {
        let Some(open) = &mut self.open else { return };
        match header.kind {
            FrameKind::Gap => {
                let since = Span { t1_ns: header.t0_ns, ..header.span() };
                let stated =
                    GapRecord::from_payload(&payload.bytes).filter(|_| self.stated.len() < STATED);
                self.stated.extend(stated.map(|stated| (since, stated)));
            }
            FrameKind::Keyframe => match open.decoder.keyframe(payload) {
                Ok(whole) if whole.at_ns == header.t1_ns => self.keyframe(header, whole),
                _ => self.lose(GapReason::Damaged, header.length()),
            },
            FrameKind::Window => match open.decoder.window(payload) {
                Ok(snapshot) if snapshot.at_ns == header.t1_ns => self.window(header, snapshot, at),
                _ => self.lose(GapReason::Damaged, header.length()),
            },
            // Details that arrive after their window was returned.
            FrameKind::Details => {
                if open.decoder.details(payload).is_err() {
                    self.lose(GapReason::Damaged, header.length());
                }
            }
            FrameKind::Header
            | FrameKind::Seal
            | FrameKind::Word
            | FrameKind::Answer
            | FrameKind::Unknown(_) => {}
        }
    }

    fn keyframe(&mut self, header: &FrameHeader, whole: Snapshot) {
        let Some(point) = self.point(header.span()) else { return };
        let reached = |last: &Option<Point>| {
            let last = last.as_ref().filter(|last| last.is_of_boot(&point.boot_id));
            last.map(|last| last.span.t1_ns)
        };
        if reached(&self.point) > Some(header.t1_ns) {
            self.stated.clear();
            return self.lose(GapReason::Overlap, 0);
        }
        self.tell_lost(Some(&point));
        self.in_step = true;
        self.broken = false;
        let last = self.point.take();
        let goes_on = last.as_ref().is_some_and(|last| last.is_of_session(&point))
            && reached(&last) == Some(header.t1_ns)
            && !self.gap_reported
            && self.known_ns == Some(header.t1_ns)
            && self.stated.iter().all(|(_, stated)| stated.why != GapReason::Suspend);
        if let (Some(last), false) = (&last, goes_on) {
            self.tell_between(last, &point);
        }
        self.why = None;
        self.stated.clear();
        self.point = Some(point);
        if !goes_on {
            self.gap_reported = false;
            self.known_ns = Some(header.t1_ns);
            self.ready.push_back(Step::Opened(Box::new(whole)));
        }
    }

    fn window(&mut self, header: &FrameHeader, snapshot: Snapshot, at: u64) {
        let Some(point) = &mut self.point else { return };
        if point.span.t1_ns != header.t0_ns || header.t1_ns < header.t0_ns {
            return self.lose(GapReason::Damaged, 0);
        }
        let (span, at) = (header.span(), RecordingPosition { part: self.part, at });
        point.span = span;
        self.known_ns = Some(span.t1_ns);
        let (details, page) = self.details_of(header);
        let recorded = Recorded { span, snapshot, details, page, at };
        self.ready.push_back(Step::Window(Box::new(recorded)));
    }

    /// Reads the details of a window, which follow it directly if there are any.
    fn details_of(&mut self, window: &FrameHeader) -> (Details, PageData) {
        let nothing = Default::default;
        let Some(open) = &mut self.open else { return nothing() };
        let at = open.at;
        let Ok(FrameSlot::Frame(header)) = open.segment.find(at) else { return nothing() };
        let follows = header.kind == FrameKind::Details
            && header.t1_ns == window.t1_ns
            && open.expected == Some(header.number);
        if !follows {
            return nothing();
        }
        open.at = at + header.length();
        open.expected = header.number.checked_add(1);
        let payload = open.segment.payload(&header, at);
        match payload.map(|payload| open.decoder.details(&payload)) {
            Some(Ok(details)) => details,
            _ => {
                self.lose(GapReason::Damaged, header.length());
                nothing()
            }
        }
    }

    /// Details of a row that were read earlier and still hold.
    pub(crate) fn lasting(&self, key: DetailKey) -> Option<Facts> {
        self.open.as_ref()?.decoder.lasting(key)
    }

    /// Seeks to the last keyframe before the window, or the gap, that holds a time (ns since the
    /// epoch), without reading the frames between. Seeks to the first keyframe if there is none
    /// before.
    ///
    /// # Errors
    /// [`RecordingError`]: the file cannot be read.
    pub fn seek(&mut self, wall_ns: i128) -> Result<(), RecordingError> {
        let mut found = self.index.at_time(&self.recording, wall_ns)?;
        if let Some(later) = found.filter(|window| window.span.wall_t0_ns() > wall_ns) {
            // Start before a gap, so that the gap is reported.
            found = self.index.beside(&self.recording, later.at, false)?.or(found);
        }
        let begin = RecordingPosition { part: 0, at: 0 };
        self.go_to(found.map_or(begin, |window| window.at), found.map(|window| window.keyframe))
    }

    /// Seeks to the keyframe of the window before this one, so that a gap between them is reported.
    pub(crate) fn go_before(&mut self, window: IndexedWindow) -> Result<(), RecordingError> {
        let before = self.index.beside(&self.recording, window.at, false)?;
        let begin = RecordingPosition { part: 0, at: 0 };
        self.go_to(before.map_or(begin, |before| before.at), before.map(|before| before.keyframe))
    }

    /// Seeks to a keyframe of a file, or to its beginning. The next step opens a new book.
    pub(crate) fn go_to(
        &mut self,
        at: RecordingPosition,
        keyframe: Option<FrameAt>,
    ) -> Result<(), RecordingError> {
        if self.part != at.part || keyframe.is_none() {
            self.open = None;
        }
        self.part = at.part;
        self.point = None;
        self.in_step = false;
        (self.why, self.lost) = (None, None);
        self.stated.clear();
        (self.broken, self.gap_reported) = (false, false);
        self.known_ns = None;
        self.ready.clear();
        self.current()?;
        let keyframe = keyframe.filter(|_| self.part == at.part);
        if let (Some(open), Some(keyframe)) = (&mut self.open, keyframe) {
            open.at = keyframe.at;
            open.expected = Some(keyframe.number);
        }
        Ok(())
    }

    /// Looks for new windows and files; returns true if there are new files.
    pub(crate) fn follow(&mut self) -> Result<bool, RecordingError> {
        self.recording.follow()
    }

    pub(crate) fn index(&mut self) -> (&mut Index, &Recording) {
        (&mut self.index, &self.recording)
    }
}
