//! The directory of a recording: its lock, its files, and the removal of old files.

use crate::about::FILE_MAGIC;
use crate::error::RecordingError;
use crate::file::FileBytes;
use crate::frame::{FrameHeader, FrameKind, Span};
use crate::options::Notice;
use crate::parts::{name, number, Part, Recording};
use crate::segment::Segment;
use exactop_files::{Directory, FileError};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Lock file; the recorder writes its PID here.
const LOCK: &str = "writer.lock";
/// Subdirectory of the exporter's cursors; the recorder neither counts nor removes it.
pub const SENDERS: &str = "sent";

/// A locked directory to record into.
#[derive(Debug)]
pub(crate) struct Disk {
    pub directory: Directory,
    /// Holds the lock until it is closed.
    _lock: File,
    /// Oldest first; the last may be the one that is being written.
    pub files: Vec<StoredFile>,
    next: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct StoredFile {
    pub number: u64,
    pub bytes: u64,
    /// Boot id of its times; `None` if unknown.
    pub boot_id: Option<String>,
    /// End of its last frame, CLOCK_MONOTONIC ns of its boot.
    pub to_ns: Option<u64>,
    /// The same end, ns since the epoch.
    pub to_wall_ns: Option<i128>,
}

/// State of the directory before this recorder.
#[derive(Debug, Default)]
pub(crate) struct ExistingFiles {
    /// Newest file that holds a frame.
    pub last: Option<Part>,
    /// Bytes that were truncated from its end.
    pub cut: u64,
    /// Number and bytes of recording files that cannot be read.
    pub unreadable: (u64, u64),
    /// Names of files that do not belong to the recording.
    pub foreign: Vec<String>,
}

impl ExistingFiles {
    /// Notices for the user.
    pub fn notices(self) -> Vec<Notice> {
        let ExistingFiles { last: _, cut, unreadable: (files, bytes), foreign } = self;
        let all = [
            (cut > 0).then_some(Notice::Cut(cut)),
            (files > 0).then_some(Notice::Unreadable(files, bytes)),
            (!foreign.is_empty()).then_some(Notice::Foreign(foreign)),
        ];
        all.into_iter().flatten().collect()
    }
}

impl Disk {
    /// Locks a directory, creates it if missing, and seals the file that the previous writer left
    /// open.
    ///
    /// # Errors
    /// [`RecordingError`]: another process holds the lock, another user could change the directory,
    /// or it cannot be written.
    pub fn take(path: &Path) -> Result<(Disk, ExistingFiles), RecordingError> {
        let directory = Directory::for_us_alone(path)?;
        let lock = lock(&directory)?;
        let names = directory.names()?;
        let mut numbers: Vec<u64> = names.iter().filter_map(|name| number(name)).collect();
        numbers.sort_unstable();
        let next = numbers.last().map_or(1, |last| last + 1);
        let cut = numbers.last().map_or(Ok(0), |&last| close_in_order(&directory, last))?;
        let strange = names
            .into_iter()
            .filter(|name| ![LOCK, SENDERS].contains(&&**name) && number(name).is_none());
        let mut found =
            ExistingFiles { cut, foreign: strange.collect(), ..ExistingFiles::default() };
        let mut parts = BTreeMap::new();
        if let Ok(recording) = Recording::within(directory.try_clone()?) {
            for part in recording.parts() {
                parts.extend(number(&part.name).map(|number| (number, part.clone())));
            }
        }
        found.last = parts.values().rfind(|part| part.to_ns.is_some()).cloned();
        let mut files = Vec::new();
        for number in numbers {
            let file = directory.open_file(&name(number)).ok().filter(is_ours);
            let part = parts.get(&number);
            match file.and_then(|file| kept(&file, number, part)) {
                Some(kept) => {
                    if part.is_none() {
                        found.unreadable.0 += 1;
                        found.unreadable.1 += kept.bytes;
                    }
                    files.push(kept);
                }
                None => found.foreign.push(name(number)),
            }
        }
        found.foreign.sort_unstable();
        Ok((Disk { directory, _lock: lock, files, next }, found))
    }

    /// Creates the next file and writes `bytes` to it.
    pub fn begin(&mut self, bytes: &[u8]) -> Result<File, RecordingError> {
        let (number, mut file) = loop {
            let number = self.next;
            match self.directory.create(&name(number)) {
                Ok(file) => break (number, file),
                Err(FileError::Exists { .. }) => self.next += 1,
                Err(error) => return Err(error.into()),
            }
        };
        self.next += 1;
        if let Err(error) = file.write_all(bytes) {
            // A file without a header is worthless.
            let _ = self.directory.remove(&name(number));
            let path = self.directory.path().join(name(number));
            return Err(RecordingError::io("write", path, error));
        }
        // Syncing windows is worth nothing until the directory entry is on the disk.
        self.directory.sync_entries();
        let bytes = bytes.len() as u64;
        self.files.push(StoredFile { number, bytes, boot_id: None, to_ns: None, to_wall_ns: None });
        Ok(file)
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Removes the oldest removable file except the newest; returns it, or `None` if there is none.
    pub fn drop_oldest(&mut self) -> Option<StoredFile> {
        self.drop_first(|_| true)
    }

    /// Removes the oldest file among those up to the last that `is_so` holds for.
    pub fn drop_first(&mut self, is_so: impl Fn(&StoredFile) -> bool) -> Option<StoredFile> {
        let older = self.files.len().saturating_sub(1);
        let so = self.files[..older].iter().rposition(is_so).map_or(0, |at| at + 1);
        let mut so = self.files[..so].iter();
        let at = so.position(|file| self.directory.remove(&name(file.number)).is_ok())?;
        self.directory.sync_entries();
        Some(self.files.remove(at))
    }

    /// Removes the newest file, which holds no window.
    pub fn drop_newest(&mut self) {
        if let Some(newest) = self.files.pop() {
            if self.directory.remove(&name(newest.number)).is_err() {
                self.files.push(newest);
            }
        }
    }
}

/// Describes a file that takes space, readable or not.
fn kept(file: &File, number: u64, part: Option<&Part>) -> Option<StoredFile> {
    let metadata = file.metadata().ok()?;
    let changed = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok();
    let changed_ns = changed.and_then(|changed| i128::try_from(changed.as_nanos()).ok());
    Some(StoredFile {
        number,
        bytes: metadata.len(),
        boot_id: part.map(|part| part.boot_id.clone()),
        to_ns: part.and_then(|part| part.to_ns),
        to_wall_ns: part.and_then(|part| part.to_wall_ns).or(changed_ns),
    })
}

/// True for a recording file, also one that a power loss left empty or zeroed.
fn is_ours(file: &File) -> bool {
    let Ok(metadata) = file.metadata() else { return false };
    let mut begin = FILE_MAGIC.to_vec();
    begin.truncate(usize::try_from(metadata.len()).unwrap_or(usize::MAX));
    let read = file.read_exact_at(&mut begin, 0).is_ok();
    read && (FILE_MAGIC.starts_with(&begin) || begin.iter().all(|&byte| byte == 0))
}

/// Locks the directory itself: a lock file could be removed and recreated.
fn lock(directory: &Directory) -> Result<File, RecordingError> {
    let Some(lock) = directory.lock()? else {
        // The holder could not write its PID if the disk was full.
        let bytes = directory.read(LOCK, 32).ok().filter(|bytes| !bytes.is_empty());
        let pid = bytes.map_or_else(
            || "(unknown)".into(),
            |bytes| String::from_utf8_lossy(&bytes).trim().to_string(),
        );
        return Err(RecordingError::InUse { path: directory.path().into(), pid });
    };
    unless_full(say_who(directory))?;
    Ok(lock)
}

/// Writes our PID into the lock file, for the error of a second recorder.
fn say_who(directory: &Directory) -> Result<(), RecordingError> {
    let mut file = directory.append(LOCK)?;
    let written = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
    written.map_err(|error| RecordingError::io("write", directory.path().join(LOCK), error))
}

/// Ignores "disk full": the PID in the lock file is only informative.
fn unless_full(written: Result<(), RecordingError>) -> Result<(), RecordingError> {
    match written {
        Err(error) if error.is_full() => Ok(()),
        other => other,
    }
}

/// Truncates the newest file to its last whole frame and seals it, because its writer could not.
/// Returns the truncated bytes. An unreadable file stays as it is.
fn close_in_order(directory: &Directory, last: u64) -> Result<u64, RecordingError> {
    let name = name(last);
    let path = directory.path().join(&name);
    let Ok(file) = directory.open_file(&name) else { return Ok(0) };
    let Ok(segment) = Segment::open(file, &path) else { return Ok(0) };
    let length = segment.length()?;
    let first = (FILE_MAGIC.len() as u64).max(segment.begin());
    let (frame, end) = match segment.last()? {
        Some((frame, end)) => (Some(frame), end),
        None => (None, first),
    };
    if end == length && frame.is_some_and(|frame| frame.kind == FrameKind::Seal) {
        return Ok(0);
    }
    let failed = |error| RecordingError::io("write", &path, error);
    let mut file = directory.append(&name)?;
    file.set_len(end).map_err(failed)?;
    let FrameHeader { number, t0_ns, t1_ns, wall_offset_ns, .. } = match frame {
        Some(frame) => frame,
        None => return Ok(length - end),
    };
    let span = Span { t0_ns: t1_ns.max(t0_ns), t1_ns, wall_offset_ns };
    if let Ok(seal) = FileBytes::resume(segment.about().mark, number).seal(span) {
        unless_full(file.write_all(&seal).map_err(failed))?;
    }
    Ok(length - end)
}
