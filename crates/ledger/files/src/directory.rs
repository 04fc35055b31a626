//! Open directories, and safe operations on their entries.

use crate::error::{FileError, FileKind};
use crate::path::{
    locate, look, open, own_uid, sync_entries, trust, Location, Missing, OTHERS_WRITE,
};
use crate::read::{bounded, regular_file};
use crate::temporary::{random_name, Temporary};
use rustix::fs::{self, AtFlags, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Number of names to try for a new directory.
const TRIES: usize = 16;

/// An open directory. A later change of its path has no effect on it.
#[derive(Debug)]
pub struct Directory {
    held: OwnedFd,
    path: PathBuf,
}

impl Directory {
    /// Opens a directory for writing. For root, it must belong to root. Other users must not be
    /// able to write to it, unless it has the sticky bit, which protects each user's entries.
    ///
    /// # Errors
    /// [`FileError`]: it does not exist, is no directory, or belongs to others.
    pub fn open(path: &Path) -> Result<Directory, FileError> {
        Directory::open_path(locate(path, Missing::Fail)?, path, true)
    }

    /// Opens a directory of any owner for reading.
    ///
    /// # Errors
    /// [`FileError`]: it does not exist or is no directory.
    pub fn open_to_read(path: &Path) -> Result<Directory, FileError> {
        Directory::open_path(locate(path, Missing::Fail)?, path, false)
    }

    /// Opens a directory as [`Directory::open`], or makes it for its owner alone.
    pub fn open_or_make(path: &Path) -> Result<Directory, FileError> {
        let place = locate(path, Missing::Make)?;
        if place.found.is_none() {
            match fs::mkdirat(&place.directory, &place.name, Mode::RWXU) {
                // Without its own name on disk, a power loss takes the directory with its files.
                Ok(()) => sync_entries(&place.directory),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(FileError::io("make", path, errno)),
            }
        }
        Directory::open_path(place, path, true)
    }

    /// Makes a directory for its owner alone; refuses an existing one.
    ///
    /// # Errors
    /// [`FileError::Exists`] and others.
    pub fn make(path: &Path) -> Result<Directory, FileError> {
        let place = locate(path, Missing::Make)?;
        match fs::mkdirat(&place.directory, &place.name, Mode::RWXU) {
            Ok(()) => Directory::open_path(place, path, true),
            Err(Errno::EXIST) => Err(FileError::Exists { path: path.into() }),
            Err(errno) => Err(FileError::io("make", path, errno)),
        }
    }

    /// Makes a directory for its owner alone. Its name begins with `begin` and ends at random.
    pub fn make_unguessable(begin: &Path) -> Result<Directory, FileError> {
        for _ in 0..TRIES {
            let random = random_name::<6>().map_err(|error| FileError::io("make", begin, error))?;
            let mut path = begin.as_os_str().to_os_string();
            path.push("-");
            path.push(random);
            match Directory::make(Path::new(&path)) {
                Err(FileError::Exists { .. }) => {}
                other => return other,
            }
        }
        Err(FileError::Exists { path: begin.into() })
    }

    /// Opens a directory like [`Directory::open_or_make`]. Refuses it unless it belongs to this
    /// user, and only this user and root can make or rename entries in it. Also refuses for users
    /// other than root.
    pub fn for_us_alone(path: &Path) -> Result<Directory, FileError> {
        Directory::open_or_make(path)?.alone()
    }

    /// Like [`Directory::for_us_alone`], for an existing directory.
    pub fn ours(path: &Path) -> Result<Directory, FileError> {
        Directory::open(path)?.alone()
    }

    /// Refuses a directory in which other users could make or rename entries.
    fn alone(self) -> Result<Directory, FileError> {
        let path = || self.path.clone();
        let stat = fs::fstat(&self.held).map_err(|errno| FileError::io("open", &path(), errno))?;
        let (owner, own) = (stat.st_uid, own_uid());
        if owner != own {
            return Err(FileError::Foreign { path: path(), owner, own });
        }
        match stat.st_mode & OTHERS_WRITE {
            0 => Ok(self),
            _ => Err(FileError::Writable { path: path(), mode: stat.st_mode & 0o7777 }),
        }
    }

    fn open_path(place: Location, path: &Path, to_write: bool) -> Result<Directory, FileError> {
        let failed = |errno| FileError::io("open", path, errno);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = match fs::openat(&place.directory, &place.name, flags, Mode::empty()) {
            Ok(held) => held,
            Err(Errno::NOTDIR | Errno::LOOP) => {
                let stat = look(place.directory.as_fd(), &place.name).map_err(failed)?;
                return Err(FileError::kind(path, &stat, "a directory"));
            }
            Err(errno) => return Err(failed(errno)),
        };
        if to_write {
            trust(&fs::fstat(&held).map_err(failed)?, path, true)?;
        }
        Ok(Directory { held, path: path.into() })
    }

    /// Path at the time of opening.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True if an entry with this name exists, even a dangling link.
    ///
    /// # Errors
    /// [`FileError`]: the kernel cannot look it up.
    pub fn has(&self, name: &str) -> Result<bool, FileError> {
        match look(self.held.as_fd(), self.entry(name)?) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(FileError::io("open", &self.path.join(name), errno)),
        }
    }

    /// Opens a directory in it, or makes it for its owner alone.
    pub fn within(&self, name: &str) -> Result<Directory, FileError> {
        let (entry, path) = (self.entry(name)?, self.path.join(name));
        match fs::mkdirat(&self.held, entry, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(FileError::io("make", &path, errno)),
        }
        let directory = self.held.try_clone();
        let directory = directory.map_err(|error| FileError::io("open", &path, error))?;
        Directory::open_path(Location { directory, name: entry.into(), found: None }, &path, true)
    }

    /// Writes a file, completely or not at all. It replaces the old entry and does not follow a
    /// link.
    ///
    /// # Errors
    /// [`FileError`], also for a full disk.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), FileError> {
        put(&self.held, self.entry(name)?, &self.path.join(name), bytes)
    }

    /// Makes a file for its owner alone; refuses an existing entry.
    ///
    /// # Errors
    /// [`FileError::Exists`] and others.
    pub fn create(&self, name: &str) -> Result<File, FileError> {
        let path = self.path.join(name);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::APPEND;
        match open(&self.held, self.entry(name)?, flags) {
            Ok(file) => Ok(file),
            Err(Errno::EXIST) => Err(FileError::Exists { path }),
            Err(errno) => Err(FileError::io("write", &path, errno)),
        }
    }

    /// Opens a file for appending, or makes it for its owner alone. An existing one must be a
    /// regular file of this user, without another name.
    pub fn append(&self, name: &str) -> Result<File, FileError> {
        let (entry, path) = (self.entry(name)?, self.path.join(name));
        let failed = |errno| FileError::io("write", &path, errno);
        match self.create(name) {
            Err(FileError::Exists { .. }) => {}
            other => return other,
        }
        // Check before opening, because opening a device may already have an effect.
        check_own(&look(self.held.as_fd(), entry).map_err(failed)?, &path)?;
        open_own(&self.held, entry, &path, OFlags::WRONLY | OFlags::APPEND)
    }

    /// Syncs its entries to disk, so that a new file survives a loss of power. Not all file systems
    /// support this.
    pub fn sync_entries(&self) {
        sync_entries(self.held.as_fd());
    }

    /// Duplicates the open directory.
    ///
    /// # Errors
    /// [`FileError`]: too many files are open.
    pub fn try_clone(&self) -> Result<Directory, FileError> {
        let held = self.held.try_clone();
        let held = held.map_err(|error| FileError::io("open", &self.path, error))?;
        Ok(Directory { held, path: self.path.clone() })
    }

    /// Locks the directory until the returned file is closed. `None` if another process has locked
    /// it.
    ///
    /// # Errors
    /// [`FileError`]: the file system has no locks.
    pub fn lock(&self) -> Result<Option<File>, FileError> {
        let failed = |errno| FileError::io("lock", &self.path, errno);
        let listing = open_listing(&self.held).map_err(failed)?;
        match fs::flock(&listing, fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(listing)),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(failed(errno)),
        }
    }

    /// Names of its entries, in no order. Names that are not UTF-8 are left out, because exactop
    /// makes none.
    ///
    /// # Errors
    /// [`FileError`]: it cannot be listed.
    pub fn names(&self) -> Result<Vec<String>, FileError> {
        let failed = |errno| FileError::io("list", &self.path, errno);
        let mut names = Vec::new();
        for entry in
            fs::Dir::read_from(&open_listing(&self.held).map_err(failed)?).map_err(failed)?
        {
            if let Ok(name) = entry.map_err(failed)?.file_name().to_str() {
                if name != "." && name != ".." {
                    names.push(name.into());
                }
            }
        }
        Ok(names)
    }

    /// Opens a regular file for reading; does not follow a link.
    pub fn open_file(&self, name: &str) -> Result<File, FileError> {
        let (entry, path) = (self.entry(name)?, self.path.join(name));
        regular_file(&self.held, entry, &path)
    }

    /// The whole content of a regular file of at most `limit` bytes.
    pub fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>, FileError> {
        let path = self.path.join(name);
        bounded(&self.held, self.entry(name)?, &path, limit, |_| Ok(()))
    }

    /// Removes a file or a link, if it exists.
    pub fn remove(&self, name: &str) -> Result<(), FileError> {
        match fs::unlinkat(&self.held, self.entry(name)?, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(FileError::io("remove", &self.path.join(name), errno)),
        }
    }

    /// Checks that a name is a single component, so that it cannot leave the directory.
    fn entry<'a>(&self, name: &'a str) -> Result<&'a OsStr, FileError> {
        let plain = !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0']);
        match plain {
            true => Ok(OsStr::new(name)),
            false => Err(FileError::io("open", &self.path.join(name), Errno::INVAL)),
        }
    }
}

/// For calls on the directory and its entries; opened with O_PATH.
impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.held.as_fd()
    }
}

fn open_listing(held: &OwnedFd) -> Result<File, Errno> {
    open(held, OsStr::new("."), OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Checks that it is a regular file of this user without another name, so that no other user can
/// have put it there.
pub(crate) fn check_own(stat: &Stat, path: &Path) -> Result<(), FileError> {
    if FileKind::from_stat(stat) != FileKind::File {
        return Err(FileError::kind(path, stat, "a regular file"));
    }
    let (owner, own) = (stat.st_uid, own_uid());
    if owner != own {
        return Err(FileError::Foreign { path: path.into(), owner, own });
    }
    match stat.st_nlink {
        0 | 1 => Ok(()),
        links => Err(FileError::Linked { path: path.into(), links }),
    }
}

/// Opens a regular file of this user to write to it, if it has no other name.
pub(crate) fn open_own(
    directory: &OwnedFd,
    name: &OsStr,
    path: &Path,
    flags: OFlags,
) -> Result<File, FileError> {
    let failed = |errno| FileError::io("write", path, errno);
    let file = open(directory, name, flags).map_err(failed)?;
    let opened = fs::fstat(&file).map_err(failed)?;
    check_own(&opened, path)?;
    // A second name of another file may have stood here and be gone by now; then that file has one
    // name again. If this name is still that of the open file, it is the only one. A name that is
    // being removed is still found for a moment, so there are two looks. Between them stands a call
    // that waits for such a removal: a rename to the same name, which the kernel refuses.
    for _ in 0..2 {
        let named = look(directory.as_fd(), name).map_err(failed)?;
        check_own(&named, path)?;
        if (named.st_dev, named.st_ino) != (opened.st_dev, opened.st_ino) {
            return Err(failed(Errno::STALE));
        }
        let _ = fs::renameat_with(directory, name, directory, name, RenameFlags::NOREPLACE);
    }
    Ok(file)
}

/// Writes a file for its owner alone, completely or not at all, and makes the directories above it.
/// For root, the file's directory must belong to root. If the path is a trusted link, the link stays
/// and its target is written.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let place = locate(path, Missing::Make).map_err(|error| error.while_to("write"))?;
    let above = fs::fstat(&place.directory).map_err(|errno| FileError::io("write", path, errno))?;
    trust(&above, path.parent().unwrap_or(path), true)?;
    put(&place.directory, &place.name, path, bytes)
}

/// Writes the file under a random name, syncs it, and renames it.
pub(crate) fn put(
    directory: &OwnedFd,
    name: &OsStr,
    path: &Path,
    bytes: &[u8],
) -> Result<(), FileError> {
    let mut aside = Temporary::new(directory.as_fd(), path)?;
    let written = aside.fill(bytes).and_then(|()| aside.rename(name));
    written.map_err(|error| FileError::io("write", path, error))?;
    sync_entries(directory);
    Ok(())
}
