//! The files of a recording, and the time of each.

use crate::error::RecordingError;
use crate::frame::{FrameHeader, FrameKind};
use crate::segment::{FrameSlot, Segment};
use exactop_files::Directory;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Prefix of a file's name, before its number.
const BEGIN: &str = "exactop-";
/// Suffix of a file's name.
const END: &str = ".rec";

pub(crate) fn name(number: u64) -> String {
    format!("{BEGIN}{number:08}{END}")
}

pub(crate) fn number(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(BEGIN)?.strip_suffix(END)?;
    let number = digits.parse().ok()?;
    // Refuse spellings that the recorder never writes: two names would have one number. After
    // `u64::MAX` there is no next number.
    (number < u64::MAX && self::name(number) == name).then_some(number)
}

/// A file as it was when the recording was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Name in the directory.
    pub name: String,
    /// Length, bytes.
    pub bytes: u64,
    /// Boot id of its times.
    pub boot_id: String,
    /// Session that wrote it.
    pub session: u64,
    /// Host name of the recorded machine.
    pub host: String,
    /// First instant, ns since the epoch; `None` if the file holds no window.
    pub from_wall_ns: Option<i128>,
    /// Last instant, ns since the epoch.
    pub to_wall_ns: Option<i128>,
    /// Last instant, CLOCK_MONOTONIC ns of its boot.
    pub to_ns: Option<u64>,
    /// True if the file was closed properly.
    pub sealed: bool,
}

impl Part {
    /// Number of the file. Numbers rise in the order of writing and never repeat.
    pub fn number(&self) -> Option<u64> {
        number(&self.name)
    }
}

/// A recording: one file, or the files of a directory.
#[derive(Debug)]
pub struct Recording {
    directory: Directory,
    path: PathBuf,
    parts: Vec<Part>,
    unreadable: Vec<RecordingError>,
    /// The recording is a directory: files that are created later belong to it.
    is_directory: bool,
}

impl Recording {
    /// Opens a file, or all files of a directory. An unreadable file does not hide the others.
    ///
    /// # Errors
    /// [`RecordingError`]: no file can be read.
    pub fn open(path: &Path) -> Result<Recording, RecordingError> {
        if !path.is_dir() {
            let above = path.parent().filter(|above| !above.as_os_str().is_empty());
            let directory = Directory::open_to_read(above.unwrap_or(Path::new(".")))?;
            let name = path.file_name().and_then(OsStr::to_str);
            let not =
                || io::Error::new(io::ErrorKind::InvalidInput, "its name is not UTF-8: rename it");
            let name = name.ok_or_else(|| RecordingError::io("open", path, not()))?.to_string();
            let mut recording = Recording::new(directory, path);
            recording.add(&name)?;
            return Ok(recording);
        }
        Recording::within(Directory::open_to_read(path)?)
    }

    /// Opens all files of an open directory.
    pub(crate) fn within(directory: Directory) -> Result<Recording, RecordingError> {
        let path = directory.path().to_path_buf();
        let mut numbers: Vec<u64> =
            directory.names()?.iter().filter_map(|name| number(name)).collect();
        numbers.sort_unstable();
        let mut recording = Recording { is_directory: true, ..Recording::new(directory, &path) };
        for number in numbers {
            if let Err(error) = recording.add(&name(number)) {
                recording.unreadable.push(error);
            }
        }
        match (recording.parts.is_empty(), recording.unreadable.pop()) {
            (false, last) => {
                recording.unreadable.extend(last);
                Ok(recording)
            }
            (true, Some(error)) => Err(error),
            (true, None) => Err(RecordingError::Empty { path }),
        }
    }

    fn new(directory: Directory, path: &Path) -> Recording {
        let (parts, unreadable) = (Vec::new(), Vec::new());
        Recording { directory, path: path.into(), parts, unreadable, is_directory: false }
    }

    /// Updates the length of the last file and adds files that were created after it. Returns true
    /// if files were added.
    ///
    /// # Errors
    /// [`RecordingError`]: the directory cannot be listed.
    pub(crate) fn follow(&mut self) -> Result<bool, RecordingError> {
        let Some(last) = self.parts.last_mut().filter(|_| self.is_directory) else {
            return Ok(false);
        };
        let known = number(&last.name);
        // A removed file keeps its last known state.
        let path = self.directory.path().join(&last.name);
        let opened = self.directory.open_file(&last.name).ok();
        if let Some(segment) = opened.and_then(|file| Segment::open(file, &path).ok()) {
            *last = part(&last.name, &segment)?;
        }
        let names = self.directory.names()?;
        let mut newer: Vec<u64> =
            names.iter().filter_map(|name| number(name)).filter(|&n| Some(n) > known).collect();
        newer.sort_unstable();
        let before = self.parts.len();
        for number in newer {
            // A file without a complete header will be complete the next time; files after it wait,
            // too.
            if self.add(&name(number)).is_err() {
                break;
            }
        }
        Ok(self.parts.len() > before)
    }

    fn add(&mut self, name: &str) -> Result<(), RecordingError> {
        let segment = self.segment(name)?;
        self.parts.push(part(name, &segment)?);
        Ok(())
    }

    pub(crate) fn segment(&self, name: &str) -> Result<Segment, RecordingError> {
        let file = self.directory.open_file(name)?;
        Segment::open(file, &self.directory.path().join(name))
    }

    /// Files in the order of writing.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// End of the recording, ns since the epoch; `None` if it holds no window.
    pub fn ends_wall_ns(&self) -> Option<i128> {
        self.parts.iter().filter_map(|part| part.to_wall_ns).max()
    }

    /// Keeps only the files of the last boot, whatever the wall clock was.
    pub fn of_last_boot(mut self) -> Recording {
        if let Some(last) = self.parts.last().map(|part| part.boot_id.clone()) {
            let before = self.parts.iter().rposition(|part| part.boot_id != last);
            self.parts.drain(..before.map_or(0, |at| at + 1));
        }
        self
    }

    /// Keeps only file number `first` and the files after it.
    pub fn from_file(mut self, first: u64) -> Recording {
        self.parts.retain(|part| part.number().is_none_or(|number| number >= first));
        self
    }

    /// True if `file` is a file of this recording, under any name.
    ///
    /// # Errors
    /// [`RecordingError`]: a file of the recording cannot be examined.
    pub fn has_file(&self, file: &Metadata) -> Result<bool, RecordingError> {
        for part in &self.parts {
            let path = self.directory.path().join(&part.name);
            let own = self.directory.open_file(&part.name)?.metadata();
            let own = own.map_err(|error| RecordingError::io("open", &path, error))?;
            if (own.dev(), own.ino()) == (file.dev(), file.ino()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Errors of files that look like recordings and cannot be read.
    pub fn unreadable(&self) -> &[RecordingError] {
        &self.unreadable
    }

    /// Path that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn part(name: &str, segment: &Segment) -> Result<Part, RecordingError> {
    let about = segment.about();
    let last = segment.last()?;
    let first = first(segment)?;
    Ok(Part {
        name: name.into(),
        bytes: segment.length()?,
        boot_id: about.machine.boot_id.clone(),
        session: about.session,
        host: about.machine.host.clone(),
        from_wall_ns: first.map(|frame| frame.wall_t1_ns()),
        to_wall_ns: last.filter(|_| first.is_some()).map(|(frame, _)| frame.wall_t1_ns()),
        to_ns: last.filter(|_| first.is_some()).map(|(frame, _)| frame.t1_ns),
        sealed: last.is_some_and(|(frame, _)| frame.kind == FrameKind::Seal),
    })
}

fn first(segment: &Segment) -> Result<Option<FrameHeader>, RecordingError> {
    let mut at = segment.begin();
    loop {
        match segment.find(at)? {
            FrameSlot::Frame(header) if header.kind == FrameKind::Keyframe => {
                return Ok(Some(header))
            }
            FrameSlot::Frame(header) => at += header.length(),
            FrameSlot::Damaged(next) => at = next,
            FrameSlot::End => return Ok(None),
        }
    }
}
