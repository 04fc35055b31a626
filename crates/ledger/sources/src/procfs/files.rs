//! Reads files of /proc repeatedly, with descriptors that stay open within a budget.
//!
//! The kernel makes a file of /proc anew at each read from offset 0, so an open descriptor saves
//! the path lookup and the open. It also stays with its task: after the task's exit the read fails
//! with ESRCH, even if the PID is reused.

use crate::error::SourceError;
use exactop_model::text::escape;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, CWD};
use rustix::io::Errno;
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use std::ffi::CStr;
use std::path::PathBuf;

/// Large enough for a stat line: 52 numbers and a name of at most 64 bytes.
const FIRST_BUFFER: usize = 4096;

/// Limit and number of descriptors that stay open.
pub(crate) struct Budget {
    limit: usize,
    kept: usize,
}

impl Budget {
    /// Half of this process's limit on open files, after raising the soft limit to the hard one
    /// (getrlimit(2), RLIMIT_NOFILE). The other half is for the rest of the process.
    pub fn of_this_process() -> Budget {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        // A process may always raise its soft limit; if that fails, the old limit holds.
        let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
        let limit = if raised { maximum } else { current };
        Budget::new(limit.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX)) / 2)
    }

    pub fn new(limit: usize) -> Budget {
        Budget { limit, kept: 0 }
    }

    #[cfg(test)]
    pub fn kept(&self) -> usize {
        self.kept
    }
}

/// One file of one task, kept open while the budget allows.
#[derive(Default)]
pub(crate) struct Slot(Option<OwnedFd>);

impl Slot {
    /// Reads the file from its start into `buf`, and opens it if needed; only then it calls `path`.
    /// If the task has exited, the descriptor is closed and the path is tried again, because the
    /// PID may be reused.
    ///
    /// # Errors
    /// The error of openat(2) or pread(2): ENOENT and ESRCH for an exited task.
    pub fn read<'b, 'p>(
        &mut self,
        dir: BorrowedFd<'_>,
        path: impl FnOnce() -> &'p CStr,
        budget: &mut Budget,
        buf: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], Errno> {
        if let Some(fd) = &self.0 {
            if let Ok(n) = read_record(fd.as_fd(), buf) {
                return Ok(&buf[..n]);
            }
            self.close(budget);
        }
        let fd = open_at(dir, path())?;
        let n = read_record(fd.as_fd(), buf)?;
        if budget.kept < budget.limit {
            budget.kept += 1;
            self.0 = Some(fd);
        }
        Ok(&buf[..n])
    }

    /// Closes the descriptor.
    pub fn close(&mut self, budget: &mut Budget) {
        if self.0.take().is_some() {
            budget.kept -= 1;
        }
    }
}

/// A single file that stays open.
pub(crate) struct KeptFile {
    path: PathBuf,
    fd: OwnedFd,
    buf: Vec<u8>,
}

impl KeptFile {
    /// Opens the file.
    ///
    /// # Errors
    /// [`SourceError::Read`].
    pub fn open(path: PathBuf) -> Result<KeptFile, SourceError> {
        match open_at(CWD, path.as_path()) {
            Ok(fd) => Ok(KeptFile { path, fd, buf: Vec::new() }),
            Err(errno) => Err(SourceError::Read { path, error: errno.into() }),
        }
    }

    /// The present content, parsed by `parse`.
    ///
    /// # Errors
    /// [`SourceError::Read`]; [`SourceError::Parse`] if `parse` returns nothing.
    pub fn read<T>(
        &mut self,
        expected: &'static str,
        parse: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<T, SourceError> {
        let path = || self.path.clone();
        let n = read_record(self.fd.as_fd(), &mut self.buf)
            .map_err(|errno| SourceError::Read { path: path(), error: errno.into() })?;
        let text = &self.buf[..n];
        parse(text).ok_or_else(|| SourceError::Parse {
            path: path(),
            expected,
            found: escape::escape(&text[..text.len().min(60)]),
        })
    }
}

/// Opens a file for reading; programs that this process starts do not inherit it.
pub(crate) fn open_at(dir: BorrowedFd<'_>, path: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(dir, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// Opens a directory only for opening files below it, which needs no right to list it.
pub(crate) fn open_dir(
    dir: BorrowedFd<'_>,
    path: impl rustix::path::Arg,
) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(dir, path, flags, Mode::empty())
}

/// Reads the start of a file, up to the size of the buffer.
pub(crate) fn read_start(fd: BorrowedFd<'_>, buf: &mut [u8]) -> Result<usize, Errno> {
    rustix::io::retry_on_intr(|| rustix::io::pread(fd, &mut *buf, 0))
}

/// Reads a whole file of /proc in one read(2), so that it is consistent. Grows the buffer until the
/// file fits. Returns the number of bytes.
pub(crate) fn read_record(fd: BorrowedFd<'_>, buf: &mut Vec<u8>) -> Result<usize, Errno> {
    if buf.is_empty() {
        buf.resize(FIRST_BUFFER, 0);
    }
    loop {
        match read_start(fd, buf)? {
            n if n == buf.len() => buf.resize(2 * n, 0),
            n => return Ok(n),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_longer_than_the_buffer_is_read_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("long");
        std::fs::write(&path, vec![b'x'; 3 * FIRST_BUFFER]).unwrap();
        let mut file = KeptFile::open(path).unwrap();
        assert_eq!(file.read("x", |text| Some(text.len())).unwrap(), 3 * FIRST_BUFFER);
        assert!(file.read("y", |_| None::<()>).unwrap_err().to_string().contains("for y"));
    }

    #[test]
    fn the_budget_is_never_exceeded_and_is_returned() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a"), "1").unwrap();
        let fd = open_at(CWD, dir.path()).unwrap();
        let (mut budget, mut buf) = (Budget::new(1), Vec::new());
        let (mut first, mut second) = (Slot::default(), Slot::default());
        for slot in [&mut first, &mut second] {
            assert_eq!(slot.read(fd.as_fd(), || c"a", &mut budget, &mut buf), Ok(&b"1"[..]));
        }
        assert_eq!(budget.kept(), 1);
        first.close(&mut budget);
        second.close(&mut budget);
        assert_eq!(budget.kept(), 0);
    }
}
