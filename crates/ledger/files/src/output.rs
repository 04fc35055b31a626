//! Where someone wants output to go: a file, or on purpose a FIFO, a device or an open descriptor.

use crate::directory::check_own;
use crate::error::{FileError, Kind};
use crate::path::{locate, open, own_uid, Missing, Place};
use crate::temporary::Temporary;
use rustix::fs::{self, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::path::Path;

/// An opened output.
#[derive(Debug)]
pub struct Output {
    file: File,
    /// It is read by someone who may take his time: poll(2) before each write.
    stream: bool,
}

/// An output, or that one must wait for it.
#[derive(Debug)]
pub enum Await {
    /// It can be written to.
    Ready(Output),
    /// A FIFO that nobody has opened to read from yet: try again in a while.
    NoReader,
}

impl Output {
    /// Opens it without waiting. A regular file is made anew for its owner alone, in the place of
    /// what was there; what is behind a link is taken as it is only if the link is trusted. FIFOs
    /// and character devices do not block. `/dev/stdout`, `/dev/stderr` and `/dev/fd/N` are the
    /// descriptors that this program was started with.
    ///
    /// # Errors
    /// [`FileError`]
    pub fn open(path: &Path) -> Result<Await, FileError> {
        if let Some(number) = descriptor(path) {
            return inherited(number, path).map(Await::Ready);
        }
        let place = locate(path, Missing::Fail).map_err(|error| error.while_to("write"))?;
        match place.found.as_ref().map(Kind::of) {
            None | Some(Kind::File) => fresh(&place, path).map(Await::Ready),
            Some(Kind::Fifo) => fifo(&place, path),
            Some(Kind::CharacterDevice) => device(&place, path).map(Await::Ready),
            Some(found) => {
                let wanted = "a file, a FIFO or a character device";
                Err(FileError::Kind { path: path.into(), found, wanted })
            }
        }
    }

    /// Whether a write can make us wait for someone else.
    pub fn is_stream(&self) -> bool {
        self.stream
    }
}

impl AsFd for Output {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The number in the name of an open descriptor.
fn descriptor(path: &Path) -> Option<RawFd> {
    match path.to_str()? {
        "/dev/stdout" => Some(1),
        "/dev/stderr" => Some(2),
        name => {
            let number = name.strip_prefix("/dev/fd/").or(name.strip_prefix("/proc/self/fd/"))?;
            number.parse().ok()
        }
    }
}

/// The descriptor itself: opening its name would begin a file anew that a shell writes to.
fn inherited(number: RawFd, path: &Path) -> Result<Output, FileError> {
    let failed = |error: io::Error| FileError::io("write", path, error);
    let file = match number {
        1 => io::stdout().as_fd().try_clone_to_owned().map(File::from),
        2 => io::stderr().as_fd().try_clone_to_owned().map(File::from),
        _ => {
            let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
            let name = format!("/proc/self/fd/{number}");
            let opened = fs::open(name, flags | OFlags::APPEND, Mode::empty());
            opened.map(File::from).map_err(io::Error::from)
        }
    };
    let file = file.map_err(failed)?;
    let stat = fs::fstat(&file).map_err(|errno| failed(errno.into()))?;
    Ok(Output { file, stream: Kind::of(&stat) != Kind::File })
}

/// A new file under that name at once, so that what is written is there if we are killed.
fn fresh(place: &Place, path: &Path) -> Result<Output, FileError> {
    let renamed = Temporary::new(place.directory.as_fd(), path).and_then(|new| {
        new.rename(&place.name).map_err(|error| FileError::io("write", path, error))
    });
    match (renamed, &place.found) {
        (Ok(file), _) => Ok(Output { file, stream: false }),
        // The directory takes no new file (or the file is mounted there): then the old one, if
        // nobody can have put it there.
        (Err(_), Some(stat)) if check_own(stat, path).is_ok() => again(place, path),
        (Err(error), _) => Err(error),
    }
}

/// The same file, emptied.
fn again(place: &Place, path: &Path) -> Result<Output, FileError> {
    let failed = |errno: Errno| FileError::io("write", path, errno);
    let file = open(&place.directory, &place.name, OFlags::WRONLY).map_err(failed)?;
    check_own(&fs::fstat(&file).map_err(failed)?, path)?;
    file.set_len(0).map_err(|error| FileError::io("write", path, error))?;
    Ok(Output { file, stream: false })
}

fn fifo(place: &Place, path: &Path) -> Result<Await, FileError> {
    let failed = |errno: Errno| FileError::io("write", path, errno);
    let above = fs::fstat(&place.directory).map_err(failed)?;
    if let Some(stat) = &place.found {
        trust_fifo(stat, &above, path)?;
    }
    match open(&place.directory, &place.name, OFlags::WRONLY) {
        Ok(file) => {
            let stat = fs::fstat(&file).map_err(failed)?;
            trust_fifo(&stat, &above, path)?;
            Ok(Await::Ready(Output { file, stream: true }))
        }
        Err(Errno::NXIO) => Ok(Await::NoReader),
        Err(errno) => Err(failed(errno)),
    }
}

/// Where everyone can make entries, another one's FIFO was not put there for us (protected_fifos of
/// proc_sys_fs(5)).
fn trust_fifo(fifo: &Stat, above: &Stat, path: &Path) -> Result<(), FileError> {
    let own = own_uid();
    let known = fifo.st_uid == own || fifo.st_uid == 0 || fifo.st_uid == above.st_uid;
    match (Kind::of(fifo), known) {
        (Kind::Fifo, true) => Ok(()),
        (Kind::Fifo, false) => {
            Err(FileError::Foreign { path: path.into(), owner: fifo.st_uid, own })
        }
        _ => Err(FileError::kind(path, fifo, "what it was a moment ago, a FIFO")),
    }
}

fn device(place: &Place, path: &Path) -> Result<Output, FileError> {
    let failed = |errno: Errno| FileError::io("write", path, errno);
    let file = open(&place.directory, &place.name, OFlags::WRONLY).map_err(failed)?;
    let stat = fs::fstat(&file).map_err(failed)?;
    match Kind::of(&stat) {
        Kind::CharacterDevice => Ok(Output { file, stream: true }),
        _ => Err(FileError::kind(path, &stat, "what it was a moment ago, a character device")),
    }
}
