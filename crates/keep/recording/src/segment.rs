//! One file of a recording, read frame by frame.

use crate::about::{Form, RecordingInfo, FILE_MAGIC, FORMAT};
use crate::bounds::Payload;
use crate::error::RecordingError;
use crate::frame::{FrameHeader, FrameKind, HEADER, LONGEST, MAGIC, TRAILER};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Most bytes read at once in the search for the next frame.
const CHUNK: usize = 1 << 16;
/// Bytes read first in that search.
const NEAR: usize = 512;

/// An open file.
#[derive(Debug)]
pub struct Segment {
    file: File,
    path: PathBuf,
    about: RecordingInfo,
    /// Offset of the first frame after the header.
    begin: u64,
    header: FrameHeader,
}

/// What is at an offset of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameSlot {
    /// A frame with a valid header.
    Frame(FrameHeader),
    /// Damage up to this offset, where a frame begins or the file ends.
    Damaged(u64),
    /// End of the file.
    End,
}

impl Segment {
    /// Opens a recording; `path` appears in errors.
    ///
    /// # Errors
    /// [`RecordingError`]: it is not a recording, or its format is of a later version.
    pub fn open(file: File, path: &Path) -> Result<Segment, RecordingError> {
        let not = || RecordingError::NotARecording { path: path.into() };
        let mut start = [0; FILE_MAGIC.len() + HEADER];
        file.read_exact_at(&mut start, 0).map_err(|_| not())?;
        if !start.starts_with(FILE_MAGIC) {
            return Err(not());
        }
        let damaged = |why: &str| RecordingError::Header { path: path.into(), why: why.into() };
        let header = FrameHeader::parse(&start[FILE_MAGIC.len()..]);
        let header = header.filter(|h| h.kind == FrameKind::Header);
        let header = header.ok_or_else(|| damaged("its checksum is wrong"))?;
        if !header.is_short_and_plain() {
            return Err(damaged("it is compressed, or longer than 1 MiB"));
        }
        let at = FILE_MAGIC.len() as u64;
        let payload = stored(&file, &header, at).ok_or_else(|| damaged("it is incomplete"))?.bytes;
        let invalid = |error: serde_json::Error| damaged(&error.to_string());
        let form: Form = serde_json::from_slice(&payload).map_err(invalid)?;
        if form.format > FORMAT {
            let (found, version) = (form.format, form.exactop);
            return Err(RecordingError::Later { path: path.into(), found, known: FORMAT, version });
        }
        let about: RecordingInfo = serde_json::from_slice(&payload).map_err(invalid)?;
        Ok(Segment { file, path: path.into(), about, begin: at + header.length(), header })
    }

    /// Content of the first frame.
    pub fn about(&self) -> &RecordingInfo {
        &self.about
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn begin(&self) -> u64 {
        self.begin
    }

    /// Header of the first frame, and its offset.
    pub(crate) fn header(&self) -> (FrameHeader, u64) {
        (self.header, self.begin - self.header.length())
    }

    /// Current length, bytes; the file may be growing.
    ///
    /// # Errors
    /// [`RecordingError`]: the file cannot be examined.
    pub fn length(&self) -> Result<u64, RecordingError> {
        let metadata = self.file.metadata();
        Ok(metadata.map_err(|error| RecordingError::io("read", &self.path, error))?.len())
    }

    fn header_at(&self, at: u64, length: u64) -> Option<FrameHeader> {
        let mut bytes = [0; HEADER];
        if length.checked_sub(at)? < HEADER as u64 {
            return None;
        }
        self.file.read_exact_at(&mut bytes, at).ok()?;
        let header = FrameHeader::parse(&bytes).filter(|h| h.mark == self.about.mark)?;
        (at + header.length() <= length).then_some(header)
    }

    /// What is at this offset.
    pub(crate) fn find(&self, at: u64) -> Result<FrameSlot, RecordingError> {
        let length = self.length()?;
        if at >= length {
            return Ok(FrameSlot::End);
        }
        Ok(match self.header_at(at, length) {
            Some(header) => FrameSlot::Frame(header),
            None => FrameSlot::Damaged(self.next_after(at + 1, length)),
        })
    }

    /// Offset of the next frame with a valid header, else of the end.
    fn next_after(&self, mut at: u64, length: u64) -> u64 {
        let mut chunk = vec![0; CHUNK];
        // The next frame is usually near: start small, so that many damaged places cost little.
        let mut size = NEAR;
        while at < length {
            let wanted = usize::try_from(length - at).map_or(size, |left| left.min(size));
            let bytes = &mut chunk[..wanted];
            if self.file.read_exact_at(bytes, at).is_err() {
                return length;
            }
            for (n, window) in bytes.windows(MAGIC.len()).enumerate() {
                let there = at + n as u64;
                if window == MAGIC && self.header_at(there, length).is_some() {
                    return there;
                }
            }
            if wanted < size {
                return length;
            }
            // The magic bytes may cross the end of the chunk.
            at += (size - MAGIC.len()) as u64 + 1;
            size = (size * 2).min(CHUNK);
        }
        length
    }

    /// Payload of a frame; `None` if it is damaged.
    pub(crate) fn payload(&self, header: &FrameHeader, at: u64) -> Option<Payload> {
        stored(&self.file, header, at)
    }

    /// True if the length after the payload is right.
    pub(crate) fn is_trailer_right(&self, header: &FrameHeader, at: u64) -> bool {
        let mut bytes = [0; TRAILER];
        let there = at + header.length() - TRAILER as u64;
        let read = self.file.read_exact_at(&mut bytes, there);
        read.is_ok() && u64::from(u32::from_le_bytes(bytes)) == header.length()
    }

    /// The last frame and the offset of its end; `None` if there is none after the header. Found
    /// from the end if the file ends with a frame, else by a scan.
    pub(crate) fn last(&self) -> Result<Option<(FrameHeader, u64)>, RecordingError> {
        let length = self.length()?;
        let mut bytes = [0; TRAILER];
        let there = length.saturating_sub(TRAILER as u64);
        if there >= self.begin && self.file.read_exact_at(&mut bytes, there).is_ok() {
            let back = u64::from(u32::from_le_bytes(bytes));
            let at = length.checked_sub(back).filter(|&at| at >= self.begin);
            let header = at.and_then(|at| self.header_at(at, length));
            if let Some(header) = header.filter(|h| h.length() == back) {
                return Ok(Some((header, length)));
            }
        }
        let (mut at, mut last) = (self.begin, None);
        loop {
            match self.find(at)? {
                FrameSlot::End => return Ok(last),
                FrameSlot::Damaged(next) => at = next,
                FrameSlot::Frame(header) => {
                    at += header.length();
                    last = Some((header, at));
                }
            }
        }
    }
}

fn stored(file: &File, header: &FrameHeader, at: u64) -> Option<Payload> {
    let length = usize::try_from(header.stored().min(LONGEST.into())).ok()?;
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, at + HEADER as u64).ok()?;
    if !header.is_payload(&bytes) {
        return None;
    }
    header.payload(bytes).ok()
}
