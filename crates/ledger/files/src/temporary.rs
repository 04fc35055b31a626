//! New files with unguessable names.

use crate::error::FileError;
use crate::path::open;
use rustix::fs::{self, AtFlags, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::path::Path;

/// Number of names to try. One is enough, unless another user fills the directory with guesses.
const TRIES: usize = 16;

/// `N` random characters from an alphabet of 32.
pub(crate) fn random_name<const N: usize>() -> io::Result<String> {
    let mut bytes = [0u8; N];
    let mut filled = 0;
    while filled < N {
        let flags = rustix::rand::GetRandomFlags::empty();
        filled += rustix::rand::getrandom(&mut bytes[filled..], flags)?;
    }
    let letters = b"abcdefghijklmnopqrstuvwxyz234567";
    Ok(bytes.iter().map(|byte| char::from(letters[usize::from(byte % 32)])).collect())
}

/// A file without its final name. It is removed if it is dropped before the rename.
pub(crate) struct Temporary<'a> {
    directory: BorrowedFd<'a>,
    name: OsString,
    pub file: File,
}

impl<'a> Temporary<'a> {
    /// Makes a file for its owner alone. `path` names the target in errors.
    pub fn new(directory: BorrowedFd<'a>, path: &Path) -> Result<Temporary<'a>, FileError> {
        let failed = |error: io::Error| FileError::io("write", path, error);
        let mut last = Errno::EXIST;
        for _ in 0..TRIES {
            // The name is hidden, and short whatever the target's name is.
            let name: OsString =
                format!(".exactop-{}", random_name::<16>().map_err(failed)?).into();
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
            match open(directory, &name, flags) {
                Ok(file) => return Ok(Temporary { directory, name, file }),
                Err(Errno::EXIST) => last = Errno::EXIST,
                Err(errno) => return Err(failed(errno.into())),
            }
        }
        Err(failed(last.into()))
    }

    /// Writes all bytes and syncs them to disk.
    pub fn fill(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.file.sync_all()
    }

    /// Renames the file to its final name. A link there is replaced, not followed.
    pub fn rename(mut self, name: &OsStr) -> io::Result<File> {
        fs::renameat(self.directory, &self.name, self.directory, name)?;
        self.name.clear();
        self.file.try_clone()
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            // An error here has no remedy.
            let _ = fs::unlinkat(self.directory, &self.name, AtFlags::empty());
        }
    }
}
