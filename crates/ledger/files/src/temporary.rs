//! New files under names that nobody can guess.

use crate::error::FileError;
use crate::path::open;
use rustix::fs::{self, AtFlags, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::path::Path;

/// Names that are tried: one is enough unless someone fills the directory with guesses.
const TRIES: usize = 16;

/// So many characters, each of 32, as the kernel draws them.
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

/// A file that is not under its name yet; dropped before that, it is removed.
pub(crate) struct Temporary<'a> {
    directory: BorrowedFd<'a>,
    name: OsString,
    pub file: File,
}

impl<'a> Temporary<'a> {
    /// A new file for its owner alone. `path` is what errors call the target.
    pub fn new(directory: BorrowedFd<'a>, path: &Path) -> Result<Temporary<'a>, FileError> {
        let failed = |error: io::Error| FileError::io("write", path, error);
        let mut last = Errno::EXIST;
        for _ in 0..TRIES {
            // Hidden, and short whatever the target's name is.
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

    /// All of it, on the disk.
    pub fn fill(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.file.sync_all()
    }

    /// Gives it its name, whatever was there: a link is replaced, not followed.
    pub fn rename(mut self, name: &OsStr) -> io::Result<File> {
        fs::renameat(self.directory, &self.name, self.directory, name)?;
        self.name.clear();
        self.file.try_clone()
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            // Nothing more can be done about it.
            let _ = fs::unlinkat(self.directory, &self.name, AtFlags::empty());
        }
    }
}
