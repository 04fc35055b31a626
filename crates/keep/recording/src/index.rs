//! Index of the windows of a recording, built from frame headers, file by file, on demand.
//!
//! A window is listed with the keyframe that its decoding starts from. The index reads headers
//! only; a damaged payload shows when it is read.

use crate::error::RecordingError;
use crate::frame::{FrameHeader, FrameKind, Span};
use crate::parts::{Part, Recording};
use crate::segment::{FrameSlot, Segment};
use std::collections::VecDeque;

/// Most files in the cache.
const FILES: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RecordingPosition {
    /// Index of the file.
    pub part: usize,
    /// Offset in the file, bytes.
    pub at: u64,
}

/// Position of a frame in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameAt {
    pub at: u64,
    /// Frame number in the file.
    pub number: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexedWindow {
    pub at: RecordingPosition,
    /// The keyframe before it.
    pub keyframe: FrameAt,
    /// Time of the window.
    pub span: Span,
    /// The machine was suspended between the window before and this one.
    pub is_after_suspend: bool,
}

/// Windows of one file, as far as it was scanned.
#[derive(Debug)]
struct Windows {
    part: usize,
    segment: Segment,
    list: Vec<IndexedWindow>,
    /// Offset up to which the file was scanned.
    end: u64,
    keyframe: Option<FrameAt>,
    expected: Option<u32>,
    suspend: bool,
    /// End of the files before this one, on the clock of the same boot.
    reached_ns: Option<u64>,
}

/// Cache of the files that were scanned last.
#[derive(Debug, Default)]
pub(crate) struct Index {
    files: VecDeque<Windows>,
}

impl Index {
    /// Windows of a file; empty if it does not exist. Scans the new part of a growing file each
    /// time.
    pub fn windows(
        &mut self,
        recording: &Recording,
        part: usize,
    ) -> Result<&[IndexedWindow], RecordingError> {
        let Some(there) = recording.parts().get(part) else { return Ok(&[]) };
        let known = self.files.iter().position(|windows| windows.part == part);
        let mut windows = match known.and_then(|at| self.files.remove(at)) {
            Some(windows) => windows,
            None => match recording.segment(&there.name) {
                // A running recorder removed it.
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

    /// The window next to a position: after it if `on`, else before it.
    pub fn beside(
        &mut self,
        recording: &Recording,
        at: RecordingPosition,
        on: bool,
    ) -> Result<Option<IndexedWindow>, RecordingError> {
        let list = self.windows(recording, at.part)?;
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
            let list = self.windows(recording, part)?;
            let found = if on { list.first() } else { list.last() };
            if let Some(found) = found {
                return Ok(Some(*found));
            }
        }
    }

    /// The window that holds a time (ns since the epoch), else the first after it, else the last.
    pub fn at_time(
        &mut self,
        recording: &Recording,
        wall_ns: i128,
    ) -> Result<Option<IndexedWindow>, RecordingError> {
        let parts = recording.parts();
        let begun = |part: usize| parts[part].from_wall_ns.is_some_and(|from| from <= wall_ns);
        let holds = |part: usize| begun(part) && parts[part].to_wall_ns > Some(wall_ns);
        let places = || (0..parts.len()).rev();
        let part = places().find(|&p| holds(p)).or_else(|| places().find(|&p| begun(p)));
        // The time is before the first file.
        let Some(part) = part else {
            let first = self.windows(recording, 0)?.first().copied();
            return match first {
                Some(first) => Ok(Some(first)),
                None => self.beside(recording, RecordingPosition { part: 0, at: u64::MAX }, true),
            };
        };
        let list = self.windows(recording, part)?;
        let found = list.iter().find(|window| window.span.wall_t1_ns() > wall_ns).copied();
        if found.is_some() {
            return Ok(found);
        }
        let end = RecordingPosition { part, at: u64::MAX };
        match self.beside(recording, end, true)? {
            Some(next) => Ok(Some(next)),
            None => self.beside(recording, end, false),
        }
    }
}

/// End of the files right before `part` that are of the same boot.
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
                FrameSlot::End => return Ok(()),
                // A frame that is being written looks the same: scan it again later.
                FrameSlot::Damaged(next) if next >= self.segment.length()? => return Ok(()),
                FrameSlot::Damaged(next) => {
                    self.end = next;
                    (self.keyframe, self.expected) = (None, None);
                }
                FrameSlot::Frame(header) => {
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
            // The reader skips time that an earlier file covers; the index does too.
            (FrameKind::Keyframe, _) => {
                self.keyframe = Some(here).filter(|_| self.reached_ns <= Some(header.t1_ns));
            }
            (FrameKind::Window, Some(keyframe)) => {
                let at = RecordingPosition { part: self.part, at: self.end };
                let is_after_suspend = std::mem::take(&mut self.suspend);
                self.list.push(IndexedWindow {
                    at,
                    keyframe,
                    span: header.span(),
                    is_after_suspend,
                });
            }
            // A gap of length 0 is a suspend: the clock stood still.
            (FrameKind::Gap, _) => self.suspend = header.t0_ns == header.t1_ns,
            _ => {}
        }
    }
}
