//! Where the windows of a recording are: found by the headers of frames, file by file, at need.
//!
//! A window is listed with the keyframe from which on it can be understood. Headers alone say so: that
//! a payload is not what was written shows when it is read.

use crate::error::RecordingError;
use crate::frame::{FrameHeader, Kind, Span};
use crate::parts::{Part, Recording};
use crate::segment::{Found, Segment};
use std::collections::VecDeque;

/// Files whose windows are remembered.
const FILES: usize = 4;

/// A place in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct At {
    /// Which file.
    pub part: usize,
    /// Where in it.
    pub at: u64,
}

/// A frame, as the reader wants to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameAt {
    pub at: u64,
    /// Its number in the file.
    pub number: u32,
}

/// A window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marked {
    pub at: At,
    /// The keyframe before it.
    pub keyframe: FrameAt,
    /// When it was.
    pub span: Span,
    /// A suspend lies between the window before and this one.
    pub is_after_suspend: bool,
}

/// The windows of a file, as far as it was looked through.
#[derive(Debug)]
struct Windows {
    part: usize,
    segment: Segment,
    list: Vec<Marked>,
    /// Looked through up to here.
    end: u64,
    keyframe: Option<FrameAt>,
    expected: Option<u32>,
    suspend: bool,
    /// Up to here the files before tell of the same boot.
    reached_ns: Option<u64>,
}

/// The windows of the files that were looked through last.
#[derive(Debug, Default)]
pub(crate) struct Index {
    files: VecDeque<Windows>,
}

impl Index {
    /// The windows of a file; none if there is no such file. A file that grows is looked through
    /// further each time.
    pub fn of(&mut self, recording: &Recording, part: usize) -> Result<&[Marked], RecordingError> {
        let Some(there) = recording.parts().get(part) else { return Ok(&[]) };
        let known = self.files.iter().position(|windows| windows.part == part);
        let mut windows = match known.and_then(|at| self.files.remove(at)) {
            Some(windows) => windows,
            None => match recording.segment(&there.name) {
                // A recorder that is at work removed it.
                Err(error) if error.is_missing() => return Ok(&[]),
                segment => {
                    let reached_ns = reached_ns(recording.parts(), part);
                    Windows { reached_ns, ..Windows::new(part, segment?) }
                }
            },
        };
        windows.look()?;
        self.files.truncate(FILES - 1);
        self.files.push_front(windows);
        Ok(&self.files[0].list)
    }

    /// The window before a place, or after it.
    pub fn beside(
        &mut self,
        recording: &Recording,
        at: At,
        on: bool,
    ) -> Result<Option<Marked>, RecordingError> {
        let list = self.of(recording, at.part)?;
        let found = match on {
            true => list.get(list.partition_point(|window| window.at <= at)),
            false => list[..list.partition_point(|window| window.at < at)].last(),
        };
        if let Some(found) = found {
            return Ok(Some(*found));
        }
        let mut part = at.part;
        loop {
            let next = if on { part.checked_add(1) } else { part.checked_sub(1) };
            let Some(next) = next.filter(|&next| next < recording.parts().len()) else {
                return Ok(None);
            };
            part = next;
            let list = self.of(recording, part)?;
            let found = if on { list.first() } else { list.last() };
            if let Some(found) = found {
                return Ok(Some(*found));
            }
        }
    }

    /// The window that holds a time (ns since the epoch), or the first after it; the last there is
    /// where it ends before.
    pub fn at_time(
        &mut self,
        recording: &Recording,
        wall_ns: i128,
    ) -> Result<Option<Marked>, RecordingError> {
        let parts = recording.parts();
        let begun = |part: usize| parts[part].from_wall_ns.is_some_and(|from| from <= wall_ns);
        let holds = |part: usize| begun(part) && parts[part].to_wall_ns > Some(wall_ns);
        let places = || (0..parts.len()).rev();
        let part = places().find(|&p| holds(p)).or_else(|| places().find(|&p| begun(p)));
        // Before all of it: its beginning.
        let Some(part) = part else {
            let first = self.of(recording, 0)?.first().copied();
            return match first {
                Some(first) => Ok(Some(first)),
                None => self.beside(recording, At { part: 0, at: u64::MAX }, true),
            };
        };
        let list = self.of(recording, part)?;
        let found = list.iter().find(|window| window.span.wall_t1_ns() > wall_ns).copied();
        if found.is_some() {
            return Ok(found);
        }
        let end = At { part, at: u64::MAX };
        match self.beside(recording, end, true)? {
            Some(next) => Ok(Some(next)),
            None => self.beside(recording, end, false),
        }
    }
}

/// Up to when the files right before one tell of its boot.
fn reached_ns(parts: &[Part], part: usize) -> Option<u64> {
    let boot_id = &parts[part].boot_id;
    let before = parts[..part].iter().rev().take_while(|before| before.boot_id == *boot_id);
    before.filter_map(|before| before.to_ns).max()
}

impl Windows {
    fn new(part: usize, segment: Segment) -> Windows {
        let end = segment.begin();
        Windows {
            part,
            segment,
            list: Vec::new(),
            end,
            keyframe: None,
            expected: Some(1),
            suspend: false,
            reached_ns: None,
        }
    }

    fn look(&mut self) -> Result<(), RecordingError> {
        loop {
            match self.segment.find(self.end)? {
                Found::End => return Ok(()),
                // What is being written looks like that, too: it is looked at again.
                Found::Damaged(next) if next >= self.segment.length()? => return Ok(()),
                Found::Damaged(next) => {
                    self.end = next;
                    (self.keyframe, self.expected) = (None, None);
                }
                Found::Frame(header) => {
                    self.frame(&header);
                    self.end += header.length();
                }
            }
        }
    }

    fn frame(&mut self, header: &FrameHeader) {
        if self.expected.is_some_and(|expected| expected != header.number) {
            self.keyframe = None;
        }
        self.expected = header.number.checked_add(1);
        let here = FrameAt { at: self.end, number: header.number };
        match (header.kind, self.keyframe) {
            // What was told already is not told again, as the reader has it.
            (Kind::Keyframe, _) => {
                self.keyframe = Some(here).filter(|_| self.reached_ns <= Some(header.t1_ns));
            }
            (Kind::Window, Some(keyframe)) => {
                let at = At { part: self.part, at: self.end };
                let is_after_suspend = std::mem::take(&mut self.suspend);
                self.list.push(Marked { at, keyframe, span: header.span(), is_after_suspend });
            }
            // While the clock stands still a gap ends when it begins.
            (Kind::Gap, _) => self.suspend = header.t0_ns == header.t1_ns,
            _ => {}
        }
    }
}
