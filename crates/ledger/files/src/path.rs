//! Walks a path component by component, so that no one else's link decides where it ends.

use crate::error::{FileError, Kind};
use rustix::fs::{self, AtFlags, Mode, OFlags, Stat, CWD};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path};

/// Links on the way at most, as in the kernel.
const LINKS: usize = 40;
/// What others may do to a file or directory that anyone but its owner can change.
pub(crate) const OTHERS_WRITE: u32 = 0o022;
/// In such a directory an entry is changed by its owner alone.
const STICKY: u32 = 0o1000;

/// Where a path leads: a name in a directory that is held open.
pub(crate) struct Place {
    pub directory: OwnedFd,
    pub name: OsString,
    /// What is there; never a link.
    pub found: Option<Stat>,
}

/// What to do about directories that are not there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Fail,
    /// Make them, for their owner alone.
    Make,
}

/// Who we are to the kernel when it comes to files.
pub(crate) fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Walks. The last component need not be there; a link there is followed if it is trusted.
pub(crate) fn locate(path: &Path, missing: Missing) -> Result<Place, FileError> {
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
        if let Some(stat) = found.filter(|stat| Kind::of(stat) == Kind::Link) {
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
            return Ok(Place { directory: at, name, found });
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

/// What a name is, whatever a link there points to.
pub(crate) fn look(at: BorrowedFd, name: &OsStr) -> Result<Stat, Errno> {
    fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW)
}

/// Holds a directory for what is in it; searching it is all that takes.
fn enter(at: BorrowedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(at, name, flags, Mode::empty())
}

/// A directory for us alone; one that someone else made meanwhile is looked at by those who enter.
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

/// As root, links are followed that root made. For others the rule is the kernel's
/// (protected_symlinks of proc_sys_fs(5)), whether it is on or not: where everyone can make
/// entries, only one's own and those of the directory's owner are followed.
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

/// As root, nothing is taken from where others could have put or changed it. A directory with the
/// sticky bit is all right if `entries` are looked at one by one.
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

/// Opens a name as it is: no link, no terminal that becomes ours, no wait for the other end.
pub(crate) fn open(at: impl AsFd, name: &OsStr, flags: OFlags) -> Result<File, Errno> {
    let always = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let mode = Mode::RUSR | Mode::WUSR;
    fs::openat(at, name, flags | always, mode).map(File::from)
}

/// Has the directory's entries reach the disk. Not all file systems can, and then the file is there
/// after a crash as it was or as it is, but whole.
pub(crate) fn sync_entries(directory: impl AsFd) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    if let Ok(open) = open(directory, OsStr::new("."), flags) {
        let _ = open.sync_all();
    }
}
