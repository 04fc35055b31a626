//! Counters that processes share, across fork and exec.

use rustix::fs::{ftruncate, memfd_create, MemfdFlags};
use rustix::mm::{mmap, MapFlags, ProtFlags};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::AtomicU64;

/// One page of counters; no role needs more, bytes.
const BYTES: usize = 4096;

/// A page of counters. It stays mapped until the process ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counters(&'static [AtomicU64; BYTES / size_of::<AtomicU64>()]);

impl Counters {
    /// Creates counters, all zero, and the descriptor by which a program started later finds them.
    pub(crate) fn new() -> io::Result<(Self, RawFd)> {
        // No close-on-exec: children inherit the descriptor.
        let file = memfd_create("exactop-workload-counters", MemfdFlags::empty())?;
        ftruncate(&file, BYTES as u64)?;
        let counters = Self::map(file.as_fd())?;
        let number = file.as_raw_fd();
        std::mem::forget(file);
        Ok((counters, number))
    }

    /// Maps the counters behind an inherited descriptor.
    pub(super) fn inherited(number: RawFd) -> io::Result<Self> {
        // SAFETY: the program that started this one left the descriptor open, and nothing here
        // closes it.
        let file = std::mem::ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(number) });
        Self::map(file.as_fd())
    }

    fn map(file: BorrowedFd<'_>) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, placed by the kernel, never unmapped, as large as the file,
        // page-aligned, and of a type for which all bits are valid.
        let page = unsafe {
            let at = mmap(std::ptr::null_mut(), BYTES, access, MapFlags::SHARED, file, 0)?;
            &*at.cast()
        };
        Ok(Self(page))
    }

    pub(crate) fn at(&self, number: usize) -> &'static AtomicU64 {
        &self.0[number]
    }
}

/// Closes the descriptor of counters that only forked children share.
pub(crate) fn close(number: RawFd) {
    // SAFETY: the descriptor is the caller's, from `Counters::new`, and is not used again.
    drop(unsafe { OwnedFd::from_raw_fd(number) });
}
