//! A recording read from some time on: windows, and what lies between them.
//!
//! A window can be understood if all frames since the last keyframe were: after damage nothing is
//! told until the next one, and that time is a gap. So a figure is right or it is not there.

use crate::about::Machine;
mod told;

use crate::bounds::Payload;
use crate::decode::Decoder;
use crate::error::RecordingError;
use crate::frame::{FrameHeader, Kind, Span};
use crate::gap::{Gap, Stated, Why};
use crate::index::{At, FrameAt, Index, Marked};
use crate::lost::{Lost, Point};
use crate::parts::Recording;
use crate::rows::{DetailKey, Details, Facts, Looked};
use crate::segment::{Found, Segment};
use exactop_model::Snapshot;
use std::collections::VecDeque;

/// So many frames may say of one gap what it consists of; more is nobody's.
const STATED: usize = 64;

/// What comes next.
#[derive(Clone, Debug)]
pub enum Step {
    /// Everyone, where windows begin: what a new book opens with.
    Opened(Box<Snapshot>),
    /// A window's end.
    Window(Box<Recorded>),
    /// Time that is not recorded. What comes next opens a new book.
    Gap(Gap),
}

/// A window as it was recorded.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// When it was.
    pub span: Span,
    /// Everything cumulative at its end: who changed, or everyone.
    pub snapshot: Snapshot,
    /// What was read for rows of it.
    pub(crate) details: Details,
    /// What was looked at beside.
    pub(crate) looked: Looked,
    /// Where it is.
    pub(crate) at: At,
}

/// A file that is being read.
#[derive(Debug)]
struct Open {
    segment: Segment,
    decoder: Decoder,
    at: u64,
    /// The number of the frame that must be next; `None`: any.
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
    /// Why not, until that is told.
    why: Option<Why>,
    /// Something is not understood since the last keyframe.
    broken: bool,
    lost: Option<Lost>,
    /// A gap was told after the last window: what comes next opens a new book.
    told: bool,
    /// Up to when a book that took every step knows everyone; `None`: it was not opened.
    known_ns: Option<u64>,
    /// What the file says of the time before its next keyframe, and each from when on.
    stated: Vec<(Span, Stated)>,
    ready: VecDeque<Step>,
    /// Somebody is writing: a frame that is not whole at the very end will be.
    follows: bool,
    /// Bytes that could not be read so far.
    damaged: u64,
}

impl Reader {
    /// From the beginning.
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
            told: false,
            known_ns: None,
            stated: Vec::new(),
            ready: VecDeque::new(),
            follows: false,
            damaged: 0,
        }
    }

    /// From the beginning, while somebody records: what is not whole at the end is waited for.
    pub fn following(recording: Recording) -> Reader {
        Reader { follows: true, ..Reader::new(recording) }
    }

    /// What is read.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// The machine that the file which is read is of.
    pub fn machine(&self) -> Option<&Machine> {
        self.open.as_ref().map(|open| &open.segment.about().machine)
    }

    /// Whether names were replaced in the file that is read.
    pub fn is_anonymous(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.segment.about().anonymous)
    }

    /// Bytes passed by so far because they are not what was written.
    pub fn damaged_bytes(&self) -> u64 {
        self.damaged
    }

    /// What comes next; `None` at the end, which may be later by then if someone still records.
    ///
    /// # Errors
    /// [`RecordingError`]: a file cannot be read at all any more.
    pub fn step(&mut self) -> Result<Option<Step>, RecordingError> {
        loop {
            if let Some(step) = self.ready.pop_front() {
                return Ok(Some(step));
            }
            let has_more = self.current()?.is_some();
            let more = self.part + 1 < self.recording.parts().len();
            // All that were known were removed, and there are others by now.
            if !has_more && self.recording.follow()? {
                continue;
            }
            let Some(open) = self.open.as_mut().filter(|_| has_more) else {
                self.tell_lost(None);
                return Ok(self.ready.pop_front());
            };
            let at = open.at;
            match open.segment.find(at)? {
                Found::End if more => {
                    self.part += 1;
                    self.open = None;
                }
                // Somebody may have begun the next meanwhile.
                Found::End if self.recording.follow()? => {}
                Found::End => {
                    self.tell_lost(None);
                    return Ok(self.ready.pop_front());
                }
                Found::Damaged(next)
                    if self.follows && !more && next >= open.segment.length()? =>
                {
                    // Who writes next in this directory cuts it off, if nobody ends it.
                    if !self.recording.follow()? {
                        return Ok(self.ready.pop_front());
                    }
                }
                Found::Damaged(next) => {
                    open.at = next;
                    open.expected = None;
                    self.lose(Why::Damaged, next - at);
                }
                Found::Frame(header) => self.frame(&header, at),
            }
        }
    }

    /// The file that is read, opened if need be; `None`: there are no more.
    fn current(&mut self) -> Result<Option<&mut Open>, RecordingError> {
        while self.open.is_none() {
            let Some(part) = self.recording.parts().get(self.part) else { return Ok(None) };
            let segment = match self.recording.segment(&part.name) {
                Ok(segment) => segment,
                // A recorder that is at work removed it, because its time is up.
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

    /// From here on nothing can be understood until the next keyframe.
    fn lose(&mut self, why: Why, bytes: u64) {
        self.in_step = false;
        self.broken = true;
        self.why.get_or_insert(why);
        self.damaged += bytes;
    }

    /// An instant of the file that is read.
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
            self.lose(Why::Damaged, 0);
        }
        let needed = match header.kind {
            Kind::Keyframe | Kind::Gap => true,
            Kind::Window | Kind::Details => self.in_step,
            Kind::Header | Kind::Seal | Kind::Word | Kind::Answer | Kind::Unknown(_) => false,
        };
        if let (true, Some(open)) = (needed, &self.open) {
            match open.segment.payload(header, at) {
                None => self.lose(Why::Damaged, header.length()),
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
            Kind::Gap => {
                let since = Span { t1_ns: header.t0_ns, ..header.span() };
                let stated = Stated::of(&payload.bytes).filter(|_| self.stated.len() < STATED);
                self.stated.extend(stated.map(|stated| (since, stated)));
            }
            Kind::Keyframe => match open.decoder.keyframe(payload) {
                Ok(whole) if whole.at_ns == header.t1_ns => self.keyframe(header, whole),
                _ => self.lose(Why::Damaged, header.length()),
            },
            Kind::Window => match open.decoder.window(payload) {
                Ok(snapshot) if snapshot.at_ns == header.t1_ns => self.window(header, snapshot, at),
                _ => self.lose(Why::Damaged, header.length()),
            },
            // One that came after its window was told.
            Kind::Details => {
                if open.decoder.details(payload).is_err() {
                    self.lose(Why::Damaged, header.length());
                }
            }
            Kind::Header | Kind::Seal | Kind::Word | Kind::Answer | Kind::Unknown(_) => {}
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
            return self.lose(Why::Overlap, 0);
        }
        self.tell_lost(Some(&point));
        self.in_step = true;
        self.broken = false;
        let last = self.point.take();
        let goes_on = last.as_ref().is_some_and(|last| last.is_of_session(&point))
            && reached(&last) == Some(header.t1_ns)
            && !self.told
            && self.known_ns == Some(header.t1_ns)
            && self.stated.iter().all(|(_, stated)| stated.why != Why::Suspend);
        if let (Some(last), false) = (&last, goes_on) {
            self.tell_between(last, &point);
        }
        self.why = None;
        self.stated.clear();
        self.point = Some(point);
        if !goes_on {
            self.told = false;
            self.known_ns = Some(header.t1_ns);
            self.ready.push_back(Step::Opened(Box::new(whole)));
        }
    }

    fn window(&mut self, header: &FrameHeader, snapshot: Snapshot, at: u64) {
        let Some(point) = &mut self.point else { return };
        if point.span.t1_ns != header.t0_ns || header.t1_ns < header.t0_ns {
            return self.lose(Why::Damaged, 0);
        }
        let (span, at) = (header.span(), At { part: self.part, at });
        point.span = span;
        self.known_ns = Some(span.t1_ns);
        let (details, looked) = self.details_of(header);
        let recorded = Recorded { span, snapshot, details, looked, at };
        self.ready.push_back(Step::Window(Box::new(recorded)));
    }

    /// What was read for rows of a window comes right after it, if anything was.
    fn details_of(&mut self, window: &FrameHeader) -> (Details, Looked) {
        let nothing = Default::default;
        let Some(open) = &mut self.open else { return nothing() };
        let at = open.at;
        let Ok(Found::Frame(header)) = open.segment.find(at) else { return nothing() };
        let follows = header.kind == Kind::Details
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
                self.lose(Why::Damaged, header.length());
                nothing()
            }
        }
    }

    /// What was read for a row earlier and still holds.
    pub(crate) fn lasting(&self, key: DetailKey) -> Option<Facts> {
        self.open.as_ref()?.decoder.lasting(key)
    }

    /// Goes to the last keyframe before the window that holds a time (ns since the epoch), or before
    /// the gap that does, without reading what is between; to the first there is if none is before.
    ///
    /// # Errors
    /// [`RecordingError`]: the file cannot be read.
    pub fn seek(&mut self, wall_ns: i128) -> Result<(), RecordingError> {
        let mut found = self.index.at_time(&self.recording, wall_ns)?;
        if let Some(later) = found.filter(|window| window.span.wall_t0_ns() > wall_ns) {
            // From before a gap on, so that it is told.
            found = self.index.beside(&self.recording, later.at, false)?.or(found);
        }
        let begin = At { part: 0, at: 0 };
        self.go_to(found.map_or(begin, |window| window.at), found.map(|window| window.keyframe))
    }

    /// Goes to the keyframe of the window before this one, so that what lies between is told.
    pub(crate) fn go_before(&mut self, window: Marked) -> Result<(), RecordingError> {
        let before = self.index.beside(&self.recording, window.at, false)?;
        let begin = At { part: 0, at: 0 };
        self.go_to(before.map_or(begin, |before| before.at), before.map(|before| before.keyframe))
    }

    /// Goes to a keyframe of a file, or to its beginning. What comes next opens a new book.
    pub(crate) fn go_to(
        &mut self,
        at: At,
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
        (self.broken, self.told) = (false, false);
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

    /// Looks for what was recorded since it was opened; whether there is more.
    pub(crate) fn follow(&mut self) -> Result<bool, RecordingError> {
        self.recording.follow()
    }

    /// Where the windows are.
    pub(crate) fn index(&mut self) -> (&mut Index, &Recording) {
        (&mut self.index, &self.recording)
    }
}
