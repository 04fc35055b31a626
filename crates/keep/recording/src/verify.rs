//! Verifies a recording from its first byte to its last: whole frames, damage, gaps and their
//! reasons.

use crate::error::RecordingError;
use crate::frame::{FrameHeader, FrameKind};
use crate::gap::{Gap, GapReason};
use crate::parts::Recording;
use crate::reader::{Reader, Step};
use crate::segment::{FrameSlot, Segment};
use std::path::Path;

/// Result for one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileReport {
    /// Name of the file.
    pub name: String,
    /// Length, bytes.
    pub bytes: u64,
    /// Whole frames.
    pub frames: u64,
    /// Bytes that are no frame or are in damaged frames.
    pub damaged_bytes: u64,
    /// True if the file was closed properly.
    pub sealed: bool,
}

/// Result for a recording.
#[derive(Debug)]
pub struct Report {
    /// Its files, oldest first.
    pub files: Vec<FileReport>,
    /// Errors of files that cannot be read at all.
    pub unreadable: Vec<String>,
    /// Windows that can be shown.
    pub windows: u64,
    /// Total length of those windows, ns.
    pub windows_ns: u64,
    /// Gaps between windows.
    pub gaps: Vec<Gap>,
    /// Bytes of frames whose checksum is right but whose content is invalid.
    pub unread_bytes: u64,
    /// Beginning of the first window, ns since the epoch.
    pub from_wall_ns: Option<i128>,
    /// End of the last window, ns since the epoch.
    pub to_wall_ns: Option<i128>,
}

impl Report {
    /// True if every byte is intact and every window can be shown. A missing seal is no damage: the
    /// file may still be in use.
    pub fn is_whole(&self) -> bool {
        self.unreadable.is_empty()
            && self.unread_bytes == 0
            && self.files.iter().all(|file| file.damaged_bytes == 0)
            && self.gaps.iter().all(|gap| gap.why != GapReason::Damaged)
    }
}

/// Verifies a file, or all files of a directory.
///
/// # Errors
/// [`RecordingError`]: no file can be read.
pub fn verify(path: &Path) -> Result<Report, RecordingError> {
    let recording = Recording::open(path)?;
    let mut report = Report {
        files: Vec::new(),
        unreadable: recording.unreadable().iter().map(ToString::to_string).collect(),
        windows: 0,
        windows_ns: 0,
        gaps: Vec::new(),
        unread_bytes: 0,
        from_wall_ns: None,
        to_wall_ns: None,
    };
    for part in recording.parts() {
        match recording.segment(&part.name) {
            // A running recorder removed it because it is too old.
            Err(error) if error.is_missing() => {}
            segment => report.files.push(file(&part.name, &segment?)?),
        }
    }
    let mut reader = Reader::new(recording);
    while let Some(step) = reader.step()? {
        match step {
            Step::Opened(_) => {}
            Step::Gap(gap) => report.gaps.push(gap),
            Step::Window(recorded) => {
                let span = recorded.span;
                report.windows += 1;
                report.windows_ns += span.t1_ns - span.t0_ns;
                report.from_wall_ns.get_or_insert(span.wall_t0_ns());
                report.to_wall_ns = Some(span.wall_t1_ns());
            }
        }
    }
    report.unread_bytes = reader.damaged_bytes();
    Ok(report)
}

fn file(name: &str, segment: &Segment) -> Result<FileReport, RecordingError> {
    let bytes = segment.length()?;
    let (name, sealed) = (name.to_string(), false);
    // The header was read when the segment was opened.
    let mut report = FileReport { name, bytes, frames: 1, damaged_bytes: 0, sealed };
    let (header, at) = segment.header();
    if !segment.is_trailer_right(&header, at) {
        report.damaged_bytes += header.length();
    }
    let mut at = segment.begin();
    loop {
        match segment.find(at)? {
            FrameSlot::End => return Ok(report),
            FrameSlot::Damaged(next) => {
                report.damaged_bytes += next - at;
                at = next;
            }
            FrameSlot::Frame(header) => {
                match is_whole(segment, &header, at) {
                    true => report.frames += 1,
                    false => report.damaged_bytes += header.length(),
                }
                report.sealed = header.kind == FrameKind::Seal;
                at += header.length();
            }
        }
    }
}

fn is_whole(segment: &Segment, header: &FrameHeader, at: u64) -> bool {
    segment.payload(header, at).is_some() && segment.is_trailer_right(header, at)
}
