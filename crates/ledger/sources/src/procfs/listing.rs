//! Lists processes and threads: the directories of /proc whose name is a number.

use super::files::open_at;
use super::ticks::number;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{RawDir, SeekFrom, CWD};
use rustix::io::Errno;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::path::Path;

/// Buffer of one getdents64(2) call; about a thousand processes.
const DIRENTS: usize = 32 * 1024;

/// The open directory of processes, and the buffer for listing.
pub(super) struct Listing {
    root: OwnedFd,
    dirents: Vec<MaybeUninit<u8>>,
}

impl Listing {
    /// Opens the root of /proc.
    pub fn open(root: &Path) -> Result<Listing, Errno> {
        let dirents = vec![MaybeUninit::uninit(); DIRENTS];
        Ok(Listing { root: open_at(CWD, root)?, dirents })
    }

    /// The root, for openat(2).
    pub fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Lists the present processes.
    pub fn processes(&mut self, pids: &mut Vec<u32>) -> Result<(), Errno> {
        rustix::fs::seek(&self.root, SeekFrom::Start(0))?;
        numbers(self.root.as_fd(), &mut self.dirents, pids)
    }

    /// Lists the threads in a task directory, by its path below the root.
    pub fn threads(&mut self, path: &CStr, tids: &mut Vec<u32>) -> Result<(), Errno> {
        let dir = open_at(self.root.as_fd(), path)?;
        numbers(dir.as_fd(), &mut self.dirents, tids)
    }
}

fn numbers(
    dir: BorrowedFd<'_>,
    dirents: &mut [MaybeUninit<u8>],
    ids: &mut Vec<u32>,
) -> Result<(), Errno> {
    ids.clear();
    let mut entries = RawDir::new(dir, dirents);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        // "+1" parses as a number, but it is no PID.
        if name.first().is_some_and(u8::is_ascii_digit) {
            ids.extend(number::<u32>(name));
        }
    }
    Ok(())
}
