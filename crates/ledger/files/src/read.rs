//! Reads files that another user may have put there: regular files of limited length.

use crate::error::{FileError, FileKind};
use crate::path::{locate, look, open, trust, Missing};
use rustix::fs::{self, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;

/// Longest configuration, bytes.
pub const CONFIGURATION: u64 = 1 << 20;

/// The whole content of a regular file of at most `limit` bytes, of any owner and through any link,
/// without blocking.
///
/// # Errors
/// [`FileError`]: it is no regular file, is too long, or cannot be read.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let failed = |errno| FileError::io("read", path, errno);
    regular(&fs::stat(path).map_err(failed)?, path)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let file = fs::open(path, flags, Mode::empty()).map_err(failed)?;
    regular(&fs::fstat(&file).map_err(failed)?, path)?;
    up_to(limit, File::from(file), path)
}

/// Reads a configuration with [`read`] up to [`CONFIGURATION`] bytes. For root, the file and its
/// directory must belong to root, and others must not be able to write to them.
pub fn read_configuration(path: &Path) -> Result<Vec<u8>, FileError> {
    let place = locate(path, Missing::Fail).map_err(|error| error.while_to("read"))?;
    let failed = |errno| FileError::io("read", path, errno);
    if place.found.is_none() {
        return Err(failed(Errno::NOENT));
    }
    let above = fs::fstat(&place.directory).map_err(failed)?;
    trust(&above, path.parent().unwrap_or(path), true)?;
    let check = |stat: &Stat| trust(stat, path, false);
    bounded(&place.directory, &place.name, path, CONFIGURATION, check)
}

/// Reads an entry, if it is a regular file that `check` accepts.
pub(crate) fn bounded(
    directory: impl AsFd,
    name: &OsStr,
    path: &Path,
    limit: u64,
    check: impl Fn(&Stat) -> Result<(), FileError>,
) -> Result<Vec<u8>, FileError> {
    let failed = |errno| FileError::io("read", path, errno);
    // Check before opening, because opening can start a tape; and after it, because it may be
    // another file by then.
    regular(&look(directory.as_fd(), name).map_err(failed)?, path)?;
    let file = open(directory, name, OFlags::RDONLY).map_err(failed)?;
    let stat = fs::fstat(&file).map_err(failed)?;
    regular(&stat, path)?;
    check(&stat)?;
    up_to(limit, file, path)
}

/// Opens an entry for reading, if it is a regular file and no link.
pub(crate) fn regular_file(
    directory: impl AsFd,
    name: &OsStr,
    path: &Path,
) -> Result<File, FileError> {
    let failed = |errno| FileError::io("read", path, errno);
    regular(&look(directory.as_fd(), name).map_err(failed)?, path)?;
    let file = open(directory, name, OFlags::RDONLY).map_err(failed)?;
    regular(&fs::fstat(&file).map_err(failed)?, path)?;
    Ok(file)
}

fn regular(stat: &Stat, path: &Path) -> Result<(), FileError> {
    match FileKind::from_stat(stat) {
        FileKind::File => Ok(()),
        _ => Err(FileError::kind(path, stat, "a regular file")),
    }
}

/// Read one byte more than the limit, to see if the file is longer.
fn up_to(limit: u64, file: File, path: &Path) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| FileError::io("read", path, error))?;
    match bytes.len() as u64 > limit {
        true => Err(FileError::TooLong { path: path.into(), limit }),
        false => Ok(bytes),
    }
}
