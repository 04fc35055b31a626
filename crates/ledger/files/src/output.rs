//! Output to a path that the user chose: a file, or on purpose a FIFO, a device or an open
//! descriptor.

use crate::directory::{check_own, open_own};
use crate::error::{FileError, FileKind};
use crate::path::{locate, open, own_uid, Location, Missing};
use crate::temporary::Temporary;
use rustix::fs::{self, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::path::Path;

/// An open output.
#[derive(Debug)]
pub struct Output {
    file: File,
    /// True if a slow reader may block a write: poll(2) before each write.
    stream: bool,
}

/// An output, or the need to wait for its reader.
#[derive(Debug)]
pub enum Await {
    /// The output is ready.
    Ready(Output),
    /// A FIFO without a reader: try again later.
    NoReader,
}

impl Output {
    /// Opens an output without blocking. A regular file is replaced by a new one for its owner
    /// alone. If the path is a trusted link, its target is replaced. FIFOs and character devices do
    /// not block. `/dev/stdout`, `/dev/stderr` and `/dev/fd/N` are the descriptors that this
    /// program was started with.
    pub fn open(path: &Path) -> Result<Await, FileError> {
        if let Some(number) = descriptor(path) {
            return inherited(number, path).map(Await::Ready);
        }
        let place = locate(path, Missing::Fail).map_err(|error| error.while_to("write"))?;
        match place.found.as_ref().map(FileKind::from_stat) {
            None | Some(FileKind::File) => fresh(&place, path).map(Await::Ready),
            Some(FileKind::Fifo) => fifo(&place, path),
            Some(FileKind::CharacterDevice) => device(&place, path).map(Await::Ready),
            Some(found) => {
                let wanted = "a file, a FIFO or a character device";
                Err(FileError::Kind { path: path.into(), found, wanted })
            }
        }
    }

    /// True if a write may block on a reader.
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

/// The descriptor number in a name such as `/dev/fd/3`.
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

/// Descriptors 1 and 2 themselves. Any other is opened again by its name, to append: that truncates
/// no file that a shell writes to.
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
    Ok(Output { file, stream: FileKind::from_stat(&stat) != FileKind::File })
}

/// Makes a new file under the final name at once, so that its content survives if this process is
/// killed.
fn fresh(place: &Location, path: &Path) -> Result<Output, FileError> {
    let renamed = Temporary::new(place.directory.as_fd(), path).and_then(|new| {
        new.rename(&place.name).map_err(|error| FileError::io("write", path, error))
    });
    match (renamed, &place.found) {
        (Ok(file), _) => Ok(Output { file, stream: false }),
        // The directory accepts no new file, or the file is a mount: use the old file, unless
        // another user may have put it there.
        (Err(_), Some(stat)) if check_own(stat, path).is_ok() => again(place, path),
        (Err(error), _) => Err(error),
    }
}

/// Opens and empties the old file.
fn again(place: &Location, path: &Path) -> Result<Output, FileError> {
    let file = open_own(&place.directory, &place.name, path, OFlags::WRONLY)?;
    file.set_len(0).map_err(|error| FileError::io("write", path, error))?;
    Ok(Output { file, stream: false })
}

fn fifo(place: &Location, path: &Path) -> Result<Await, FileError> {
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

/// Refuses another user's FIFO in a directory where all users can make entries (protected_fifos of
/// proc_sys_fs(5)).
fn trust_fifo(fifo: &Stat, above: &Stat, path: &Path) -> Result<(), FileError> {
    let own = own_uid();
    let known = fifo.st_uid == own || fifo.st_uid == 0 || fifo.st_uid == above.st_uid;
    match (FileKind::from_stat(fifo), known) {
        (FileKind::Fifo, true) => Ok(()),
        (FileKind::Fifo, false) => {
            Err(FileError::Foreign { path: path.into(), owner: fifo.st_uid, own })
        }
        _ => Err(FileError::kind(path, fifo, "a FIFO, which it was a moment ago")),
    }
}

fn device(place: &Location, path: &Path) -> Result<Output, FileError> {
    let failed = |errno: Errno| FileError::io("write", path, errno);
    let file = open(&place.directory, &place.name, OFlags::WRONLY).map_err(failed)?;
    let stat = fs::fstat(&file).map_err(failed)?;
    match FileKind::from_stat(&stat) {
        FileKind::CharacterDevice => Ok(Output { file, stream: true }),
        _ => Err(FileError::kind(path, &stat, "a character device, which it was a moment ago")),
    }
}
