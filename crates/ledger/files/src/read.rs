//! Reading what someone else may have put there: regular files of bounded length.

use crate::error::{FileError, Kind};
use crate::path::{locate, look, open, trust, Missing};
use rustix::fs::{self, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;

/// Bytes of a configuration at most.
pub const CONFIGURATION: u64 = 1 << 20;

/// All of a regular file up to so many bytes, whosever and behind whatever link; nothing is waited
/// for.
///
/// # Errors
/// [`FileError`]: it is no regular file, too long, or cannot be read.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let failed = |errno| FileError::io("read", path, errno);
    regular(&fs::stat(path).map_err(failed)?, path)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let file = fs::open(path, flags, Mode::empty()).map_err(failed)?;
    regular(&fs::fstat(&file).map_err(failed)?, path)?;
    up_to(limit, File::from(file), path)
}

/// A configuration: [`read`] up to [`CONFIGURATION`] bytes; as root only what is root's, in a
/// directory of root's, and what others cannot write to.
///
/// # Errors
/// [`FileError`]
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

/// Reads an entry, if it is a regular file that `check` lets pass.
pub(crate) fn bounded(
    directory: impl AsFd,
    name: &OsStr,
    path: &Path,
    limit: u64,
    check: impl Fn(&Stat) -> Result<(), FileError>,
) -> Result<Vec<u8>, FileError> {
    let failed = |errno| FileError::io("read", path, errno);
    // Before it is opened, because that alone can start a tape; after it, because it may be
    // another one by then.
    regular(&look(directory.as_fd(), name).map_err(failed)?, path)?;
    let file = open(directory, name, OFlags::RDONLY).map_err(failed)?;
    let stat = fs::fstat(&file).map_err(failed)?;
    regular(&stat, path)?;
    check(&stat)?;
    up_to(limit, file, path)
}

/// Opens an entry to read from, if it is a regular file and no link.
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
    match Kind::of(stat) {
        Kind::File => Ok(()),
        _ => Err(FileError::kind(path, stat, "a regular file")),
    }
}

/// One byte more than may be there tells whether it is.
fn up_to(limit: u64, file: File, path: &Path) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| FileError::io("read", path, error))?;
    match bytes.len() as u64 > limit {
        true => Err(FileError::TooLong { path: path.into(), limit }),
        false => Ok(bytes),
    }
}
