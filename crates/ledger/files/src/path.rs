//! Walks a path component by component, so that another user's link cannot decide where it ends.

use crate::error::{FileError, FileKind};
use rustix::fs::{self, AtFlags, Mode, OFlags, Stat, CWD};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path};

/// Most links in a path, as in the kernel.
const LINKS: usize = 40;
/// Permissions with which other users can change a file or directory.
pub(crate) const OTHERS_WRITE: u32 = 0o022;
/// Flag of a directory in which only the owner may change an entry.
const STICKY: u32 = 0o1000;

/// The end of a path: a name in an open directory.
pub(crate) struct Location {
    pub directory: OwnedFd,
    pub name: OsString,
    /// The file there; never a link.
    pub found: Option<Stat>,
}

/// What to do about missing directories.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Fail,
    /// Make them for their owner alone.
    Make,
}

/// The user id that the kernel uses for file access.
pub(crate) fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Walks a path. The last component may be missing; if it is a link, it must be trusted and is
/// followed.
pub(crate) fn locate(path: &Path, missing: Missing) -> Result<Location, FileError> {
    let failed = |errno| FileError::io("open", path, errno);
    let mut ahead: VecDeque<OsString> = components(path);
    let mut at = start(path).map_err(failed)?;
    let mut links = 0;
    if path.as_os_str().is_empty() {
        return Err(failed(Errno::NOENT));
    }
    loop {
        let name = ahead.pop_front().unwrap_or(".".into());
        let found = match look(at.as_fd(), &name) {
            Ok(stat) => Some(stat),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(failed(errno)),
        };
        if let Some(stat) = found.filter(|stat| FileKind::from_stat(stat) == FileKind::Link) {
            links += 1;
            if links > LINKS {
                return Err(failed(Errno::LOOP));
            }
            trust_link(at.as_fd(), &stat, path)?;
            let target = fs::readlinkat(&at, &name, Vec::new()).map_err(failed)?;
            let target = OsString::from_vec(target.into_bytes());
            if Path::new(&target).is_absolute() {
                at = start(Path::new("/")).map_err(failed)?;
            }
            components(Path::new(&target)).into_iter().rev().for_each(|c| ahead.push_front(c));
            continue;
        }
        if ahead.is_empty() {
            return Ok(Location { directory: at, name, found });
        }
        if found.is_none() && missing == Missing::Make {
            make_directory(at.as_fd(), &name, path)?;
        }
        at = enter(at.as_fd(), &name).map_err(failed)?;
    }
}

fn start(path: &Path) -> Result<OwnedFd, Errno> {
    enter(CWD, OsStr::new(if path.is_absolute() { "/" } else { "." }))
}

fn components(path: &Path) -> VecDeque<OsString> {
    let named = |component: Component| match component {
        Component::Normal(name) => Some(name.to_os_string()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().filter_map(named).collect()
}

/// The status of an entry, without following a link.
pub(crate) fn look(at: BorrowedFd, name: &OsStr) -> Result<Stat, Errno> {
    fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW)
}

/// Opens a directory only to reach its entries, which needs only the right to search it.
fn enter(at: BorrowedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(at, name, flags, Mode::empty())
}

/// Makes a directory for its owner alone. If another process made it meanwhile, the caller checks
/// it when it enters.
fn make_directory(at: BorrowedFd, name: &OsStr, path: &Path) -> Result<(), FileError> {
    match fs::mkdirat(at, name, Mode::RWXU) {
        Ok(()) => {
            sync_entries(at);
            Ok(())
        }
        Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(FileError::io("make", path, errno)),
    }
}

/// Checks if a link may be followed. Root follows only links of root. For other users the kernel's
/// rule applies, whether it is on or not (protected_symlinks of proc_sys_fs(5)). In a directory
/// where all users can make entries, only the user's own links and those of the directory's owner
/// are followed.
fn trust_link(at: BorrowedFd, link: &Stat, path: &Path) -> Result<(), FileError> {
    let own = own_uid();
    if link.st_uid == own || link.st_uid == 0 {
        return Ok(());
    }
    let above = fs::fstat(at).map_err(|errno| FileError::io("open", path, errno))?;
    let shared = above.st_mode & 0o002 != 0 && above.st_uid != link.st_uid;
    match own == 0 || shared {
        true => Err(FileError::Link { path: path.into(), owner: link.st_uid }),
        false => Ok(()),
    }
}

/// For root, refuses a file or directory that other users could have made or changed. With
/// `entries`, a directory with the sticky bit is accepted, because the caller checks each entry.
pub(crate) fn trust(stat: &Stat, path: &Path, entries: bool) -> Result<(), FileError> {
    if own_uid() != 0 {
        return Ok(());
    }
    if stat.st_uid != 0 {
        return Err(FileError::Foreign { path: path.into(), owner: stat.st_uid, own: 0 });
    }
    let sticky = entries && stat.st_mode & STICKY != 0;
    match stat.st_mode & OTHERS_WRITE != 0 && !sticky {
        true => Err(FileError::Writable { path: path.into(), mode: stat.st_mode & 0o7777 }),
        false => Ok(()),
    }
}

/// Opens an entry without following a link, without taking a controlling terminal, and without
/// waiting for a FIFO's other end.
pub(crate) fn open(at: impl AsFd, name: &OsStr, flags: OFlags) -> Result<File, Errno> {
    let always = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let mode = Mode::RUSR | Mode::WUSR;
    fs::openat(at, name, flags | always, mode).map(File::from)
}

/// Syncs a directory's entries to disk. Not all file systems support this; there the file is the
/// old or the new one after a crash, but complete.
pub(crate) fn sync_entries(directory: impl AsFd) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    if let Ok(open) = open(directory, OsStr::new("."), flags) {
        let _ = open.sync_all();
    }
}
